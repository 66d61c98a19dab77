#include "coordinator/planning/make_plan.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/types/optional.h"
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

// The plan as it would be without budgets, for members that have some; none when it is impossible too.
absl::optional<Plan> PlanWithoutBudgets(const JobSpec& spec, const ParameterTable& table,
                                        const Plan* previous, const Plan& refused) {
  Plan plan = refused;
  bool limited = false;
  for (PlanMember& member : plan.members) {
    limited = limited || member.profile.memory_budget_bytes > 0;
    member.profile.memory_budget_bytes = 0;
  }
  if (!limited || !ChooseWithinBudgets(spec, table, previous, plan).ok()) return absl::nullopt;
  for (Rank rank = 0; rank < plan.world_size(); ++rank) {
    const int64_t budget = refused.members[rank].profile.memory_budget_bytes;
    plan.members[rank].profile.memory_budget_bytes = plan.summary.workers[rank].memory_budget_bytes = budget;
  }
  return plan;
}

}  // namespace

int64_t LargestMemory(const Plan& plan) {
  int64_t largest = 0;
  for (const WorkerCost& cost : plan.summary.workers) largest = std::max(largest, cost.memory.total());
  return largest;
}

PlanAttempt TryPlan(const JobSpec& spec, const ParameterTable& table, std::vector<PlanMember> members,
                    Epoch epoch, int64_t first_step, const Plan* previous) {
  if (absl::Status status = CheckMembers(members, spec.batch.global_sequences); !status.ok()) {
    return {std::move(status), absl::nullopt};
  }
  Plan plan;
  plan.epoch = epoch;
  plan.members = std::move(members);
  plan.first_step = first_step;
  ApplyProfiles(spec.workers, plan.members);
  const absl::Status status = ChooseWithinBudgets(spec, table, previous, plan);
  if (status.ok()) return {std::move(plan), absl::nullopt};
  absl::optional<Plan> unlimited = PlanWithoutBudgets(spec, table, previous, plan);
  if (!unlimited) return {status, absl::nullopt};
  // Masks are made for equal shares of the sequences, rounded up. Who holds more gets fewer.
  if (CheckMemory(spec, table, *unlimited).ok()) {
    unlimited->summary.reasons.push_back(
        "made without regard to memory budgets, and keeps to them: who holds more gets fewer sequences");
    return {*std::move(unlimited), absl::nullopt};
  }
  const std::string enough = FormatBytesUp(static_cast<double>(LargestMemory(*unlimited)));
  return {absl::Status(status.code(),
                       absl::StrCat(status.message(), "; with ", enough, " on every worker it would fit")),
          std::move(unlimited)};
}

absl::StatusOr<Plan> MakePlan(const JobSpec& spec, const ParameterTable& table,
                              std::vector<PlanMember> members, Epoch epoch, int64_t first_step,
                              const Plan* previous) {
  return TryPlan(spec, table, std::move(members), epoch, first_step, previous).plan;
}

}  // namespace sdp
