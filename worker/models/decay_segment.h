// Which part of a flat buffer weight decay applies to.
#pragma once

#include <cstdint>

namespace sdp {

// A run of elements of a bucket that weight decay treats alike.
struct DecaySegment {
  int64_t begin = 0;
  int64_t end = 0;
  bool decayed = false;
};

}  // namespace sdp
