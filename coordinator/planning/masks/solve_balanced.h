// The balanced generator for any components and workers.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "coordinator/planning/masks/mask_problem.h"

namespace sdp {

// A mask with a large gap whose loads are balanced: by number of components when components and workers are
// alike, by memory (or time) in proportion to what each worker can carry otherwise. With problem.previous,
// one that moves little. Adds to `reasons` why it is so. Errors as SolveMask.
absl::StatusOr<Mask> SolveBalanced(const MaskProblem& problem, std::vector<std::string>& reasons);

// The rows of problem.previous by the ranks of problem.workers: empty for a new worker.
Mask PreviousByRank(const MaskProblem& problem);

// The least that must move from problem.previous to any mask that is as balanced as `mask`, in bytes.
double MovedBytesLowerBound(const MaskProblem& problem, const Mask& mask);

}  // namespace sdp
