// The planner.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "common/base/ids.h"
#include "common/model/job_spec.h"
#include "common/model/parameter_table.h"
#include "common/model/plan.h"

namespace sdp {

// The plan of `spec` on `members`: worker, incarnation and address set, in rank order; their sample split is
// filled in here, equal shares with the remainder to the first ranks. `table` is the spec's. The same
// arguments give the same plan. FAILED_PRECONDITION says why no plan is possible and what would be: no
// members, one worker twice, more workers than sequences in a step, no mask (choose_mask.h), or a worker
// that has declared too little memory (check_memory.h).
absl::StatusOr<Plan> MakePlan(const JobSpec& spec, const ParameterTable& table,
                              std::vector<PlanMember> members, Epoch epoch, int64_t first_step);

}  // namespace sdp
