// Where in the network each worker's components lie.
#pragma once

#include <vector>

#include "common/model/mask.h"

namespace sdp {

// The mask with its columns in another order, such that each worker's components lie evenly over the depth of
// the network. Columns change places with columns of the same kind only (`kinds`, by column: components that
// are alike in all that the planner weighs), so coverage, loads and the spectral gap stay as they are.
//
// Why: the gap does not see the order, the network does. In a subnetwork with a block out of each stretch of
// the depth, a block learns what its whole stretch has to do; when all workers agree on the stretches, the
// full model is made of the parts that the subnetworks were. docs/method.md has the measurement.
//
// Greedy: each position takes the column after which the workers' counts so far are nearest to their share
// (the sum of squared differences is least; of equals, the first). O(columns^2 x holders), deterministic.
Mask SpreadOverDepth(const Mask& mask, const std::vector<int>& kinds);

}  // namespace sdp
