// Time for shells. Pure cores get `now` as an argument instead.
#pragma once

#include <chrono>

#include "absl/time/clock.h"
#include "absl/time/time.h"

namespace sdp {

// A clock that never jumps: the wall time at construction, moved on by the monotonic clock.
class Clock {
 public:
  virtual ~Clock() = default;
  virtual absl::Time Now() const {
    return start_ + absl::FromChrono(std::chrono::steady_clock::now() - steady_start_);
  }

 private:
  const absl::Time start_ = absl::Now();
  const std::chrono::steady_clock::time_point steady_start_ = std::chrono::steady_clock::now();
};

}  // namespace sdp
