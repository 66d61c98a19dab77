// The planning question that a job asks on its members.
#pragma once

#include <cstdint>
#include <vector>

#include "common/model/job_spec.h"
#include "common/model/parameter_table.h"
#include "common/model/plan.h"
#include "coordinator/planning/masks/mask_problem.h"

namespace sdp {

// The smaller of two budgets, of which 0 is none.
int64_t SmallerBudget(int64_t a, int64_t b);

// Overrides what members declare with what the spec says: budgets that are smaller (workers.memory_budget,
// and that of the worker's profile), speeds of profiles.
void ApplyProfiles(const WorkersSpec& spec, std::vector<PlanMember>& members);

// The most sequences that each member can run with the plan's mask within its budget: at least an equal
// share, rounded up, for which JobMaskProblem asks.
std::vector<int> MostSequences(const JobSpec& spec, const ParameterTable& table, const Plan& plan);

// What the spec asks for on the plan's members. Budgets become whole numbers of blocks: as many as fit with
// an equal share of the sequences, rounded up, and an evaluation as the plan's mask makes it. Only the
// balanced generator keeps to budgets; masks of the others are checked when they are there (check_memory.h),
// so their problem has none.
MaskProblem JobMaskProblem(const JobSpec& spec, const ParameterTable& table, const Plan& plan);

// The same, to be answered with a mask near that of `previous`. A member was one of the previous plan's when
// it is the same process: a restarted one holds nothing.
MaskProblem JobMaskProblem(const JobSpec& spec, const ParameterTable& table, const Plan& plan,
                           const Plan& previous);

}  // namespace sdp
