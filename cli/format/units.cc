#include "cli/format/units.h"

#include <cmath>

#include "absl/strings/str_format.h"

namespace sdp::cli {

std::string ShortDuration(absl::Duration duration) {
  if (duration < absl::ZeroDuration() || duration == absl::InfiniteDuration()) return "-";
  const int64_t seconds = absl::ToInt64Seconds(duration);
  if (seconds < 60) return absl::StrFormat("%ds", seconds);
  if (seconds < 3600) return absl::StrFormat("%dm%02ds", seconds / 60, seconds % 60);
  if (seconds < 86400) return absl::StrFormat("%dh%02dm", seconds / 3600, seconds / 60 % 60);
  return absl::StrFormat("%dd%02dh", seconds / 86400, seconds / 3600 % 24);
}

std::string FormatPercent(double ratio) {
  if (!std::isfinite(ratio)) return "-";
  const double percent = ratio * 100;
  return absl::StrFormat("%.*f%%", percent != 0 && std::abs(percent) < 9.95 ? 1 : 0, percent);
}

std::string FormatNumber(double number) {
  return std::isfinite(number) ? absl::StrFormat("%.4g", number) : "-";
}

}  // namespace sdp::cli
