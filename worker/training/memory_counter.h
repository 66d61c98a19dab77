// Tensor memory of this process, counted at LibTorch's CPU allocator.
#pragma once

#include <cstdint>

namespace sdp {

// Puts a counting allocator in front of LibTorch's own, once per process: call it before the first tensor is
// made and before threads start. Idempotent.
void InstallMemoryCounter();

// Bytes in tensors made since the counter was installed.
int64_t TensorBytes();

// Largest TensorBytes() since the last ResetPeakTensorBytes.
int64_t PeakTensorBytes();
void ResetPeakTensorBytes();

}  // namespace sdp
