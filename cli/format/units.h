// Durations, shares and numbers as people read them; bytes and counts: common/base/quantities.h.
#pragma once

#include <string>

#include "absl/time/time.h"
#include "common/base/quantities.h"

namespace sdp::cli {

// "4s", "1m05s", "2h03m", "3d04h"; negative and endless durations are "-".
std::string ShortDuration(absl::Duration duration);

// "812 us", "45.1 ms", "1.24 s", "3m05s": predicted and measured times of steps; "-" when negative or
// endless.
std::string FormatSeconds(double seconds);

// "52%", "0.4%"; `ratio` of 1 is 100%.
std::string FormatPercent(double ratio);

// Losses and gaps: 4 significant digits; "-" when not finite.
std::string FormatNumber(double number);

}  // namespace sdp::cli
