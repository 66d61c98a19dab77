#include "common/base/quantities.h"

#include <array>
#include <cctype>
#include <cmath>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace sdp {
namespace {

constexpr std::array<const char*, 6> kByteUnits = {" B", " KiB", " MiB", " GiB", " TiB", " PiB"};

enum class Rounding { kNearest, kUp };

// Three significant digits, without an exponent.
std::string ThreeDigits(double value, Rounding rounding) {
  const int decimals = value < 9.995 ? 2 : value < 99.95 ? 1 : 0;
  const double unit = std::pow(10.0, -decimals);
  if (rounding == Rounding::kUp) value = std::ceil(value / unit) * unit;
  return absl::StrFormat("%.*f", decimals, value);
}

// Scales by `step` until the number is short. `units[0]` is for numbers that need no scaling.
template <size_t N>
std::string Scaled(double value, double step, const std::array<const char*, N>& units,
                   Rounding rounding = Rounding::kNearest) {
  if (!std::isfinite(value)) return "-";
  if (value < 0) return absl::StrCat("-", Scaled(-value, step, units));
  size_t unit = 0;
  while (unit + 1 < N && value >= step * 0.9995) {
    value /= step;
    ++unit;
  }
  const bool whole = unit == 0 && value == std::floor(value);
  return absl::StrCat(whole ? absl::StrFormat("%.0f", value) : ThreeDigits(value, rounding), units[unit]);
}

// Splits "1.5 GiB" into 1.5 and "GiB"; false when it does not begin with a number above 0. An exponent is
// part of the number only when digits follow, so "2e" has the unit "e".
bool SplitNumber(absl::string_view text, double* number, absl::string_view* unit) {
  text = absl::StripAsciiWhitespace(text);
  size_t end = 0;
  while (end < text.size() && (std::isdigit(static_cast<unsigned char>(text[end])) || text[end] == '.'))
    ++end;
  if (end + 1 < text.size() && (text[end] == 'e' || text[end] == 'E')) {
    size_t exponent = end + 1;
    if (text[exponent] == '+' || text[exponent] == '-') ++exponent;
    const size_t digits = exponent;
    while (exponent < text.size() && std::isdigit(static_cast<unsigned char>(text[exponent]))) ++exponent;
    if (exponent > digits) end = exponent;
  }
  *unit = absl::StripAsciiWhitespace(text.substr(end));
  return absl::SimpleAtod(text.substr(0, end), number) && std::isfinite(*number) && *number > 0;
}

}  // namespace

std::string FormatBytes(double bytes) { return Scaled(bytes, 1024, kByteUnits); }

std::string FormatBytesUp(double bytes) { return Scaled(bytes, 1024, kByteUnits, Rounding::kUp); }

std::string FormatCount(double count) {
  return Scaled(count, 1000, std::array<const char*, 6>{"", "k", "M", "G", "T", "P"});
}

absl::StatusOr<int64_t> ParseBytes(absl::string_view text) {
  const auto wrong = [&] {
    return absl::InvalidArgumentError(
        absl::StrCat("is \"", text,
                     "\"; must be a number of bytes above 0, with or without a unit, as in 24GiB, 512MiB or "
                     "80GB (units: B, KiB, MiB, GiB, TiB, KB, MB, GB, TB)"));
  };
  double number;
  absl::string_view unit;
  if (!SplitNumber(text, &number, &unit)) return wrong();
  constexpr absl::string_view kPrefixes = "kmgt";
  const std::string lower = absl::AsciiStrToLower(unit);
  double scale = 1;
  if (!lower.empty() && lower != "b") {
    const size_t power = kPrefixes.find(lower[0]);
    const std::string rest = lower.substr(1);
    if (power == absl::string_view::npos || (rest != "b" && rest != "i" && rest != "ib")) return wrong();
    scale = std::pow(rest == "b" ? 1000.0 : 1024.0, static_cast<double>(power + 1));
  }
  const double bytes = number * scale;
  if (bytes < 1 || bytes > 9e18) return wrong();
  return static_cast<int64_t>(std::llround(bytes));
}

std::string WriteBytes(int64_t bytes) {
  constexpr std::array<const char*, 5> kUnits = {"B", "KiB", "MiB", "GiB", "TiB"};
  size_t unit = 0;
  for (; unit + 1 < kUnits.size() && bytes != 0 && bytes % 1024 == 0; ++unit) bytes /= 1024;
  return absl::StrCat(bytes, kUnits[unit]);
}

absl::StatusOr<double> ParseCount(absl::string_view text) {
  const auto wrong = [&] {
    return absl::InvalidArgumentError(absl::StrCat(
        "is \"", text, "\"; must be a number above 0, with or without a unit, as in 2T, 312.5G or 1e12"));
  };
  double number;
  absl::string_view unit;
  if (!SplitNumber(text, &number, &unit)) return wrong();
  if (unit.empty()) return number;
  constexpr absl::string_view kPrefixes = "KMGTP";
  const size_t power = unit.size() == 1 ? kPrefixes.find(absl::ascii_toupper(unit[0])) : kPrefixes.npos;
  if (power == absl::string_view::npos) return wrong();
  return number * std::pow(1000.0, static_cast<double>(power + 1));
}

}  // namespace sdp
