#include "coordinator/planning/choose_mask.h"

#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "common/base/status_macros.h"
#include "coordinator/planning/balanced_mask.h"
#include "coordinator/planning/depth_order.h"
#include "coordinator/planning/mask_graph.h"

namespace sdp {
namespace {

// "3 components", "1 worker".
std::string Count(int64_t count, const char* noun) {
  return absl::StrCat(count, " ", noun, count == 1 ? "" : "s");
}

// Why the active ratio is too small.
absl::Status RatioTooSmall(double ratio, int workers, int components, int64_t holdings) {
  const std::string reason =
      holdings < components
          ? "that is less than one holder for each component"
          : absl::StrFormat(
                "with fewer than %d the workers cannot all be connected through components that "
                "they share",
                MinimumHoldings(workers, components));
  return absl::FailedPreconditionError(absl::StrFormat(
      "masking.active_ratio is %g: with %s and %s it gives %s, and %s; the smallest active_ratio that works "
      "here is %g",
      ratio, Count(workers, "worker"), Count(components, "maskable component"), Count(holdings, "holding"),
      reason, MinimumActiveRatio(workers, components)));
}

absl::StatusOr<Mask> ChooseBalanced(const MaskingSpec& spec, int workers, const std::vector<double>& sizes) {
  const int components = static_cast<int>(sizes.size());
  if (!(spec.active_ratio > 0 && spec.active_ratio <= 1)) {
    return absl::FailedPreconditionError(
        absl::StrFormat("masking.active_ratio is %g; it must be above 0 and at most 1", spec.active_ratio));
  }
  const int64_t holdings = HoldingsOf(spec.active_ratio, workers, components);
  if (holdings < MinimumHoldings(workers, components)) {
    return RatioTooSmall(spec.active_ratio, workers, components, holdings);
  }
  return SpreadOverDepth(BalancedMask(workers, sizes, holdings, spec.seed), sizes);
}

absl::Status CheckConnected(const Mask& mask) {
  const std::vector<std::vector<Rank>> parts = ConnectedParts(mask);
  if (parts.size() == 1) return absl::OkStatus();
  const auto append_part = [](std::string* out, const std::vector<Rank>& part) {
    absl::StrAppend(out, "{", absl::StrJoin(part, ", "), "}");
  };
  return absl::FailedPreconditionError(absl::StrFormat(
      "masking.matrix is disconnected: the rows %s share no component with each other, so what they learn "
      "never meets; give two of them a component in common",
      absl::StrJoin(parts, ", ", append_part)));
}

absl::StatusOr<Mask> ChooseExplicit(const MaskingSpec& spec, int workers, int components) {
  if (static_cast<int>(spec.matrix.size()) != workers) {
    return absl::FailedPreconditionError(absl::StrFormat("masking.matrix has %s, but the job runs on %s",
                                                         Count(spec.matrix.size(), "row"),
                                                         Count(workers, "worker")));
  }
  Mask mask(workers, components);
  for (Rank rank = 0; rank < workers; ++rank) {
    const std::vector<bool>& row = spec.matrix[rank];
    if (static_cast<int>(row.size()) != components) {
      return absl::FailedPreconditionError(
          absl::StrFormat("masking.matrix row %d has %s, but the model has %s", rank,
                          Count(row.size(), "column"), Count(components, "maskable component")));
    }
    for (int column = 0; column < components; ++column) mask.set(rank, column, row[column]);
    if (mask.Held(rank) == 0) {
      return absl::FailedPreconditionError(absl::StrFormat(
          "masking.matrix row %d is empty: the worker of that rank would hold no component", rank));
    }
  }
  for (int column = 0; column < components; ++column) {
    if (mask.Holders(column).empty()) {
      return absl::FailedPreconditionError(
          absl::StrFormat("masking.matrix column %d is empty: nobody would hold that component", column));
    }
  }
  SDP_RETURN_IF_ERROR(CheckConnected(mask));
  return mask;
}

}  // namespace

absl::StatusOr<Mask> ChooseMask(const MaskingSpec& spec, int workers, const std::vector<double>& sizes) {
  switch (spec.generator) {
    case MaskGenerator::kBalanced:
      return ChooseBalanced(spec, workers, sizes);
    case MaskGenerator::kExplicit:
      return ChooseExplicit(spec, workers, static_cast<int>(sizes.size()));
    case MaskGenerator::kFull:
      return Mask::Full(workers, static_cast<int>(sizes.size()));
  }
  return absl::InternalError("a mask generator without a case");
}

}  // namespace sdp
