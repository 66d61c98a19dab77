#include "cli/format/units.h"

#include <array>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace sdp::cli {
namespace {

// Three significant digits, without an exponent.
std::string ThreeDigits(double value) {
  return absl::StrFormat("%.*f", value < 9.995 ? 2 : value < 99.95 ? 1 : 0, value);
}

// Scales by `step` until the number is short. `units[0]` is for numbers that need no scaling.
template <size_t N>
std::string Scaled(double value, double step, const std::array<const char*, N>& units) {
  if (!std::isfinite(value)) return "-";
  if (value < 0) return absl::StrCat("-", Scaled(-value, step, units));
  size_t unit = 0;
  while (unit + 1 < N && value >= step * 0.9995) {
    value /= step;
    ++unit;
  }
  const bool whole = unit == 0 && value == std::floor(value);
  return absl::StrCat(whole ? absl::StrFormat("%.0f", value) : ThreeDigits(value), units[unit]);
}

}  // namespace

std::string FormatBytes(double bytes) {
  return Scaled(bytes, 1024, std::array<const char*, 6>{" B", " KiB", " MiB", " GiB", " TiB", " PiB"});
}

std::string FormatCount(double count) {
  return Scaled(count, 1000, std::array<const char*, 6>{"", "k", "M", "G", "T", "P"});
}

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
