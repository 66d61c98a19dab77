// A mask for new members that keeps most of the one in force.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/types/optional.h"
#include "common/model/mask.h"
#include "coordinator/planning/search/load_balance.h"

namespace sdp {

struct AdaptProblem {
  Mask previous;              // by new ranks: an empty row for a rank that is new
  std::vector<double> sizes;  // what moving a component costs, by column
  // Balance by number: this many holdings, spread as in balanced_mask.h. 0: `loads` says who holds how much.
  int64_t holdings = 0;
  LoadProblem loads;
  double worst_load = 0;  // with loads: no load may exceed this share of its target
};

// The least size that must move: holdings that nobody has to give up are kept, the others must be received.
// No mask with the wanted holders and balance moves less; there may be none that moves so little.
double MovedLowerBound(const AdaptProblem& problem);

// Size of what `mask` holds and `previous` does not.
double MovedSize(const Mask& mask, const Mask& previous, const std::vector<double>& sizes);

// A balanced mask that moves at most `moved_share` x the lower bound wherever the first repair does, with a
// gap as large as the search finds under that limit. None when the repair cannot balance the loads: then plan
// afresh. Every component must have a holder in `previous`.
absl::optional<Mask> AdaptMask(const AdaptProblem& problem, double moved_share, uint64_t seed);

}  // namespace sdp
