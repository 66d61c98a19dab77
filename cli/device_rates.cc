#include "cli/device_rates.h"

#include <algorithm>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "common/base/quantities.h"

namespace sdp::cli {
namespace {

constexpr double kBitsPerByte = 8;

absl::Status WrongBandwidth(absl::string_view text) {
  return absl::InvalidArgumentError(
      absl::StrCat("is \"", text,
                   "\"; must be a number above 0 and a unit of bits or bytes per second, as in 25Gbit, "
                   "100Mbit or 3GB"));
}

}  // namespace

absl::StatusOr<double> ParseLinkBandwidth(absl::string_view text) {
  absl::string_view amount = text;
  absl::ConsumeSuffix(&amount, "/s");
  if (absl::ConsumeSuffix(&amount, "bit") || absl::ConsumeSuffix(&amount, "bps")) {
    const absl::StatusOr<double> bits = ParseCount(amount);
    if (!bits.ok()) return WrongBandwidth(text);
    return *bits / kBitsPerByte;
  }
  const absl::StatusOr<int64_t> bytes = ParseBytes(amount);
  // ParseBytes takes "gb" and plain numbers for bytes too; for a link, they might be meant as bits.
  if (!bytes.ok() || !absl::EndsWith(amount, "B")) return WrongBandwidth(text);
  return static_cast<double>(*bytes);
}

absl::StatusOr<double> MeasuredFlopsPerSecond(const v1::Job& job) {
  double most = 0;
  for (const v1::WorkerCost& cost : job.plan().summary().workers()) {
    const double speed = cost.relative_speed() > 0 ? cost.relative_speed() : 1;
    most = std::max(most, cost.flops_per_step() / speed);
  }
  const double seconds = job.progress().step_seconds();
  if (most <= 0 || seconds <= 0) {
    return absl::FailedPreconditionError(absl::StrCat(
        job.name(), " has no measured steps yet; must be a job that has trained for some steps"));
  }
  return most / seconds;
}

}  // namespace sdp::cli
