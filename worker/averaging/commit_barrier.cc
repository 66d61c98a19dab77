#include "worker/averaging/commit_barrier.h"

#include <cmath>

#include "absl/types/span.h"
#include "common/base/status_macros.h"

namespace sdp {

CommitVector PackCommit(const CommitContribution& contribution) {
  const auto finite = [](double value) { return std::isfinite(value) ? value : 0.0; };
  const bool non_finite = contribution.non_finite || !std::isfinite(contribution.squared_norm) ||
                          !std::isfinite(contribution.loss);
  return CommitVector{finite(contribution.squared_norm), finite(contribution.loss),
                      static_cast<double>(contribution.tokens), non_finite ? 1.0 : 0.0, contribution.extra};
}

CommitResult UnpackCommit(const CommitVector& sums) {
  CommitResult result;
  result.squared_norm = sums[0];
  result.loss = sums[1];
  result.tokens = static_cast<int64_t>(sums[2]);
  result.non_finite_ranks = static_cast<int>(sums[3]);
  result.extra = sums[4];
  return result;
}

absl::StatusOr<CommitResult> CommitBarrier::Commit(const CommitContribution& contribution) {
  values_ = PackCommit(contribution);
  SDP_RETURN_IF_ERROR(all_.AllReduceSmall(absl::MakeSpan(values_))->Wait());
  return UnpackCommit(values_);
}

}  // namespace sdp
