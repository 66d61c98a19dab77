#include "cli/format/units.h"

#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace sdp::cli {
namespace {

std::string ThreeDigits(double value) {
  return absl::StrFormat("%.*f", value == 0 || value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2, value);
}

}  // namespace

std::string ShortDuration(absl::Duration duration) {
  if (duration < absl::ZeroDuration() || duration == absl::InfiniteDuration()) return "-";
  const int64_t seconds = absl::ToInt64Seconds(duration);
  if (seconds < 60) return absl::StrFormat("%ds", seconds);
  if (seconds < 3600) return absl::StrFormat("%dm%02ds", seconds / 60, seconds % 60);
  if (seconds < 86400) return absl::StrFormat("%dh%02dm", seconds / 3600, seconds / 60 % 60);
  return absl::StrFormat("%dd%02dh", seconds / 86400, seconds / 3600 % 24);
}

std::string FormatSeconds(double seconds) {
  if (!(seconds >= 0) || !std::isfinite(seconds)) return "-";
  if (seconds >= 59.95) return ShortDuration(absl::Seconds(std::round(seconds)));
  if (seconds >= 0.9995) return absl::StrCat(ThreeDigits(seconds), " s");
  if (seconds >= 0.9995e-3) return absl::StrCat(ThreeDigits(seconds * 1e3), " ms");
  return absl::StrCat(ThreeDigits(seconds * 1e6), " us");
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
