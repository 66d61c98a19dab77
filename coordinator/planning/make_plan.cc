#include "coordinator/planning/make_plan.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/base/quantities.h"
#include "common/base/status_macros.h"
#include "coordinator/planning/bucketing.h"
#include "coordinator/planning/check_memory.h"
#include "coordinator/planning/job_problem.h"
#include "coordinator/planning/plan_costs.h"
#include "coordinator/planning/split_sequences.h"

namespace sdp {
namespace {

absl::Status CheckMembers(const std::vector<PlanMember>& members, int global_sequences) {
  if (members.empty()) return absl::FailedPreconditionError("a plan needs at least one worker");
  std::set<WorkerName> names;
  for (const PlanMember& member : members) {
    if (!names.insert(member.worker).second) {
      return absl::FailedPreconditionError(
          absl::StrFormat("worker \"%s\" is a member twice", member.worker.value()));
    }
  }
  if (static_cast<int64_t>(members.size()) > global_sequences) {
    return absl::FailedPreconditionError(absl::StrFormat(
        "batch.global_sequences is %d, but there are %d workers and each needs a sequence; use "
        "at most %d workers or at least %d sequences",
        global_sequences, members.size(), global_sequences, members.size()));
  }
  return absl::OkStatus();
}

// Fills in the members' sequences: such that their step times are as equal as whole sequences and the budgets
// allow. The remainder goes to the first of those that it makes no difference for.
void AssignSequences(const JobSpec& spec, const ParameterTable& table, Plan& plan) {
  std::vector<double> seconds;
  for (Rank rank = 0; rank < plan.world_size(); ++rank) {
    double flops = 0;
    for (const Component& component : table.components) {
      if (plan.Holds(rank, component)) flops += component.flops_per_token;
    }
    seconds.push_back(flops / plan.members[rank].profile.relative_speed);
  }
  const std::vector<int> shares =
      SplitSequences(spec.batch.global_sequences, seconds, MostSequences(spec, table, plan));
  const auto [least, most] = std::minmax_element(shares.begin(), shares.end());
  if (*most > *least + 1) {
    plan.summary.reasons.push_back(absl::StrFormat(
        "workers differ in load or speed: they get %d to %d sequences each, so that all finish "
        "a step at about the same time",
        *least, *most));
  }
  int first = 0;
  for (Rank rank = 0; rank < plan.world_size(); ++rank) {
    plan.members[rank].first_sequence = first;
    plan.members[rank].sequences = shares[rank];
    first += shares[rank];
  }
}

void Complete(const JobSpec& spec, const ParameterTable& table, Plan& plan) {
  Bucketing bucketing = MakeBuckets(table, plan.mask);
  plan.holder_sets = std::move(bucketing.holder_sets);
  plan.buckets = std::move(bucketing.buckets);
  plan.digest = PlanDigest(plan);
  std::vector<std::string> reasons = std::move(plan.summary.reasons);
  plan.summary = SummarizePlan(spec, table, plan);
  plan.summary.reasons = std::move(reasons);
}

// What a mask needs beside its components follows from the plan that it is for, so the plan is made again
// until its own needs are those that it was made for.
absl::Status ChooseWithinBudgets(const JobSpec& spec, const ParameterTable& table, const Plan* previous,
                                 Plan& plan) {
  constexpr int kRounds = 4;
  plan.mask = Mask::Full(plan.world_size(), table.mask_columns);
  absl::Status fits;
  for (int round = 0; round < kRounds; ++round) {
    const MaskProblem problem = previous != nullptr ? JobMaskProblem(spec, table, plan, *previous)
                                                    : JobMaskProblem(spec, table, plan);
    plan.summary.reasons.clear();
    SDP_ASSIGN_OR_RETURN(plan.mask, ChooseMask(problem, &plan.summary.reasons));
    AssignSequences(spec, table, plan);
    Complete(spec, table, plan);
    fits = CheckMemory(spec, table, plan);
    if (fits.ok() || spec.masking.generator != MaskGenerator::kBalanced) break;
  }
  return fits;
}

// "; with ... it would fit" when budgets are why there is no plan.
std::string BudgetAdvice(JobSpec spec, const ParameterTable& table, std::vector<PlanMember> members) {
  ApplyProfiles(spec.workers, members);
  bool limited = false;
  for (PlanMember& member : members) {
    limited = limited || member.profile.memory_budget_bytes > 0;
    member.profile.memory_budget_bytes = 0;
  }
  spec.workers = WorkersSpec();
  if (!limited) return "";
  const absl::StatusOr<Plan> plan = MakePlanWithoutAdvice(spec, table, std::move(members), Epoch(1), 0);
  if (!plan.ok()) return "";
  int64_t largest = 0;
  for (const WorkerCost& cost : plan->summary.workers) largest = std::max(largest, cost.memory.total());
  return absl::StrCat("; with ", FormatBytesUp(static_cast<double>(largest)),
                      " on every worker it would fit");
}

}  // namespace

absl::StatusOr<Plan> MakePlanWithoutAdvice(const JobSpec& spec, const ParameterTable& table,
                                           std::vector<PlanMember> members, Epoch epoch, int64_t first_step,
                                           const Plan* previous) {
  SDP_RETURN_IF_ERROR(CheckMembers(members, spec.batch.global_sequences));
  Plan plan;
  plan.epoch = epoch;
  plan.members = std::move(members);
  plan.first_step = first_step;
  ApplyProfiles(spec.workers, plan.members);
  SDP_RETURN_IF_ERROR(ChooseWithinBudgets(spec, table, previous, plan));
  return plan;
}

absl::StatusOr<Plan> MakePlan(const JobSpec& spec, const ParameterTable& table,
                              std::vector<PlanMember> members, Epoch epoch, int64_t first_step,
                              const Plan* previous) {
  absl::StatusOr<Plan> plan = MakePlanWithoutAdvice(spec, table, members, epoch, first_step, previous);
  if (plan.ok()) return plan;
  return absl::Status(plan.status().code(),
                      absl::StrCat(plan.status().message(), BudgetAdvice(spec, table, std::move(members))));
}

}  // namespace sdp
