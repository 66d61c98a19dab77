// The one small reduction that commits a step: who gets its result knows that everybody has every average.
#pragma once

#include <array>
#include <cstdint>

#include "absl/status/statusor.h"
#include "worker/averaging/communicator.h"

namespace sdp {

// What one rank brings to the barrier.
struct CommitContribution {
  double squared_norm = 0;  // of the averaged gradients of the buckets that this rank counts
  double loss = 0;          // summed over this rank's tokens, nats
  int64_t tokens = 0;
  bool non_finite = false;  // some value of this rank was not finite
  double extra = 0;         // summed for the caller's own use
};

// The sums over all ranks.
struct CommitResult {
  double squared_norm = 0;
  double loss = 0;
  int64_t tokens = 0;
  int non_finite_ranks = 0;  // how many: above 0, the step is skipped by all
  double extra = 0;
};

using CommitVector = std::array<double, 5>;

// A norm or loss that is not finite becomes a flag, so that the sums of the others stay readable. Token
// counts are exact below 2^53.
CommitVector PackCommit(const CommitContribution& contribution);
CommitResult UnpackCommit(const CommitVector& sums);

class CommitBarrier {
 public:
  // `all` is the group of all ranks and must outlive the barrier.
  explicit CommitBarrier(Communicator& all) : all_(all) {}

  // Blocks until every rank has called it. Errors are those of Work::Wait.
  absl::StatusOr<CommitResult> Commit(const CommitContribution& contribution);

 private:
  Communicator& all_;
  CommitVector values_{};  // one place in memory for all steps
};

}  // namespace sdp
