// Why there is no mask, and what would be possible. All are FAILED_PRECONDITION.
#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "coordinator/planning/masks/mask_loads.h"
#include "coordinator/planning/masks/mask_problem.h"
#include "coordinator/planning/search/load_balance.h"

namespace sdp {

// Too few holdings for the members; OK when there are enough.
absl::Status CheckHoldings(const MaskProblem& problem, int64_t holdings);

// What no assignment can fit: a worker without room for anything, a component with room on too few workers,
// more bytes than there is room for. OK when none of these is so.
absl::Status CheckRoom(const MaskProblem& problem, const MaskLoads& loads, const std::vector<int>& holders);

// No assignment was found, with what would fit: the most holders that do, and the budget at which these do.
absl::Status NoAssignment(const MaskProblem& problem, const MaskLoads& loads, const std::vector<int>& holders,
                          SearchOutcome outcome);

// A mask that is there but does not fit someone's budget; OK when it does.
absl::Status CheckBudgets(const MaskProblem& problem, const Mask& mask);

// The parts that the workers fall into, as in "{0, 1}, {2, 3}"; empty when they are connected.
std::string DescribeParts(const Mask& mask);

// A mask whose workers fall into parts; OK when they do not. `what` is what is disconnected.
absl::Status CheckConnected(const Mask& mask, const char* what);

}  // namespace sdp
