// Whether a plan fits its workers.
#pragma once

#include "absl/status/status.h"
#include "common/model/job_spec.h"
#include "common/model/parameter_table.h"
#include "common/model/plan.h"

namespace sdp {

// FAILED_PRECONDITION when a worker that has declared its memory is predicted to need more (summary.workers):
// which, by how much, and the largest masking.active_ratio at which it would fit.
absl::Status CheckMemory(const JobSpec& spec, const ParameterTable& table, const Plan& plan);

}  // namespace sdp
