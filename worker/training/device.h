// The device of this process, set up once before anything is trained.
#pragma once

namespace sdp {

// Takes `threads` threads for one operator at a time, and counts tensor memory from here on. Before the first
// tensor.
void SetUpDevice(int threads);

}  // namespace sdp
