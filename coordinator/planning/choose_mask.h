// The mask that a spec asks for, or why there is none.
#pragma once

#include <vector>

#include "absl/status/statusor.h"
#include "common/model/job_spec.h"
#include "common/model/mask.h"

namespace sdp {

// `sizes` are the component sizes by column, all positive and at least one. FAILED_PRECONDITION: the active
// ratio leaves less than one holder for each component or cannot connect the workers (with the smallest ratio
// that works); an explicit matrix of another size, with an empty row or column, or disconnected.
absl::StatusOr<Mask> ChooseMask(const MaskingSpec& spec, int workers, const std::vector<double>& sizes);

}  // namespace sdp
