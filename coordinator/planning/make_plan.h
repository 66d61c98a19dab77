// The planner.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/optional.h"
#include "common/base/ids.h"
#include "common/model/job_spec.h"
#include "common/model/parameter_table.h"
#include "common/model/plan.h"

namespace sdp {

// The plan of `spec` on `members`: worker, incarnation and address set, in rank order; their sample split is
// filled in here, such that step times are as equal as whole sequences allow. Their profiles are what they
// declare; the spec's go before. `table` is the spec's. With `previous`, the plan in force, the balanced
// generator moves as little as possible. The same arguments give the same plan.
//
// FAILED_PRECONDITION says why no plan is possible and what would be: no members, one worker twice, more
// workers than sequences in a step, no mask (mask_problem.h), or a worker with too little memory
// (check_memory.h). No worker's predicted memory exceeds its budget.
absl::StatusOr<Plan> MakePlan(const JobSpec& spec, const ParameterTable& table,
                              std::vector<PlanMember> members, Epoch epoch, int64_t first_step,
                              const Plan* previous = nullptr);

struct PlanAttempt {
  absl::StatusOr<Plan> plan;  // MakePlan's
  // When budgets are why there is none: the plan as it would be without them.
  absl::optional<Plan> without_budgets;
};

// MakePlan, for those who want to know how far from possible a refused plan is.
PlanAttempt TryPlan(const JobSpec& spec, const ParameterTable& table, std::vector<PlanMember> members,
                    Epoch epoch, int64_t first_step, const Plan* previous = nullptr);

// The largest predicted memory of a worker, in bytes.
int64_t LargestMemory(const Plan& plan);

}  // namespace sdp
