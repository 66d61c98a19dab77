// Quantities as people read them.
#pragma once

#include <cstdint>
#include <string>

#include "absl/time/time.h"

namespace sdp::cli {

// "812 B", "45.1 MiB", "1.2 GiB": binary units, three significant digits.
std::string FormatBytes(double bytes);

// "987", "12.3k", "860k", "1.24G": decimal units, three significant digits.
std::string FormatCount(double count);

// "4s", "1m05s", "2h03m", "3d04h"; negative and endless durations are "-".
std::string ShortDuration(absl::Duration duration);

// "52%", "0.4%"; `ratio` of 1 is 100%.
std::string FormatPercent(double ratio);

// Losses and gaps: 4 significant digits; "-" when not finite.
std::string FormatNumber(double number);

}  // namespace sdp::cli
