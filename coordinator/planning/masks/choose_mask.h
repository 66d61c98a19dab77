// The mask that a spec asks for, or why there is none.
#pragma once

#include <vector>

#include "absl/status/statusor.h"
#include "common/model/job_spec.h"
#include "common/model/mask.h"
#include "coordinator/planning/masks/mask_problem.h"

namespace sdp {

// The spec's question for `workers` workers without limits: to be filled in with their profiles, what the
// shared components take and the mask in force. `sizes` as below.
MaskProblem ProblemOf(const MaskingSpec& spec, int workers, const std::vector<double>& sizes);

// `sizes` are the component sizes by column, all positive and at least one. FAILED_PRECONDITION: the active
// ratio leaves less than one holder for each component or cannot connect the workers (with the smallest ratio
// that works); an explicit matrix of another size, with an empty row or column, or disconnected.
absl::StatusOr<Mask> ChooseMask(const MaskingSpec& spec, int workers, const std::vector<double>& sizes);

}  // namespace sdp
