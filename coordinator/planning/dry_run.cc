#include "coordinator/planning/dry_run.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "coordinator/planning/fit_ratio.h"
#include "coordinator/planning/job_problem.h"
#include "coordinator/planning/make_plan.h"
#include "coordinator/planning/masks/adapt_mask.h"
#include "coordinator/planning/masks/solve_balanced.h"
#include "coordinator/planning/plan_costs.h"

namespace sdp {
namespace {

// Entries of masks (workers x components) that a schedule shows at most, over all its masks.
constexpr int64_t kMaxScheduleEntries = 1 << 20;

absl::StatusOr<Plan> PlanFor(const JobSpec& spec, const ParameterTable& table,
                             const std::vector<PlanMember>& members, const Plan* previous = nullptr) {
  return MakePlan(spec, table, members, previous == nullptr ? Epoch(1) : Epoch(2), /*first_step=*/0,
                  previous);
}

// "1 worker", "8 workers".
std::string Workers(size_t count) { return absl::StrCat(count, count == 1 ? " worker" : " workers"); }

absl::Status NoPlan(const absl::Status& status, const std::vector<PlanMember>& members) {
  if (absl::IsInvalidArgument(status)) return status;  // there was no question of a plan
  return absl::Status(status.code(), absl::StrCat("no plan is possible for ", Workers(members.size()), ": ",
                                                  status.message()));
}

ComparedPlan Compare(JobSpec spec, const ParameterTable& table, const std::vector<PlanMember>& members,
                     MaskGenerator generator) {
  ComparedPlan compared;
  compared.generator = generator;
  if (generator == MaskGenerator::kExplicit && spec.masking.matrix.empty()) {
    compared.reason = "the spec has no masking.matrix";
    return compared;
  }
  spec.masking.generator = generator;
  if (generator == MaskGenerator::kFull) spec.masking.active_ratio = 1;
  absl::StatusOr<Plan> plan = PlanFor(spec, table, members);
  if (plan.ok()) {
    compared.plan = *std::move(plan);
  } else {
    compared.reason = std::string(plan.status().message());
  }
  return compared;
}

MaskSchedule PlanSchedule(const DryRunQuestion& question, const ParameterTable& table, const Plan& plan) {
  RedrawOptions options;
  options.first_step = plan.first_step;
  options.end_step = question.spec.total_steps();
  options.every_steps = question.redraw_every_steps;
  const int64_t entries = int64_t{plan.world_size()} * plan.mask.columns();
  options.max_entries =
      static_cast<int>(std::clamp(kMaxScheduleEntries / entries, int64_t{2}, int64_t{options.max_entries}));
  return PlanSchedule(JobMaskProblem(question.spec, table, plan), plan.mask, options);
}

// The last members leave, or newcomers like the last one join.
std::vector<PlanMember> ChangedMembers(std::vector<PlanMember> members, int count) {
  const PlanMember last = members.back();
  while (static_cast<int>(members.size()) > count) members.pop_back();
  while (static_cast<int>(members.size()) < count) {
    PlanMember newcomer = last;
    newcomer.worker = WorkerName(absl::StrCat("newcomer-", members.size()));
    members.push_back(newcomer);
  }
  return members;
}

absl::StatusOr<MaskChange> PlanChange(const DryRunQuestion& question, const ParameterTable& table,
                                      const Plan& before) {
  const std::vector<PlanMember> members = ChangedMembers(question.members, question.change_to_workers);
  MaskChange change;
  SDP_ASSIGN_OR_RETURN(change.plan, PlanFor(question.spec, table, members, &before));
  SDP_ASSIGN_OR_RETURN(const Plan fresh, PlanFor(question.spec, table, members));
  const MaskProblem problem = JobMaskProblem(question.spec, table, change.plan, before);
  change.moved_bytes =
      kStateBytesPerParameter * MovedSize(change.plan.mask, PreviousByRank(problem), MaskableSizes(table));
  change.moved_bytes_lower_bound = MovedBytesLowerBound(problem, change.plan.mask);
  change.fresh_gap = fresh.summary.spectral_gap;
  return change;
}

}  // namespace

absl::StatusOr<DryRun> PlanDryRun(const DryRunQuestion& question) {
  DryRunQuestion asked = question;
  const ParameterTable table = MakeParameterTable(asked.spec.model);
  DryRun run;
  if (asked.fit_memory_bytes > 0) {
    absl::StatusOr<FittingPlan> fitting =
        FitRatio(asked.spec, table, asked.members, asked.fit_memory_bytes, &run.fits);
    if (!fitting.ok()) return NoPlan(fitting.status(), asked.members);
    run.plan = std::move(fitting->plan);
    asked.spec = std::move(fitting->spec);  // what follows is about that ratio and memory
  } else {
    absl::StatusOr<Plan> plan = PlanFor(asked.spec, table, asked.members);
    if (!plan.ok()) return NoPlan(plan.status(), asked.members);
    run.plan = *std::move(plan);
  }
  for (const MaskGenerator generator : asked.compare) {
    run.compared.push_back(Compare(asked.spec, table, asked.members, generator));
  }
  if (asked.redraw_every_steps > 0) {
    run.schedule = PlanSchedule(asked, table, run.plan);
    run.total_schedule_entries =
        (asked.spec.total_steps() + asked.redraw_every_steps - 1) / asked.redraw_every_steps;
  }
  if (asked.change_to_workers > 0) {
    absl::StatusOr<MaskChange> change = PlanChange(asked, table, run.plan);
    if (!change.ok()) {
      return absl::Status(change.status().code(),
                          absl::StrCat("no change to ", Workers(asked.change_to_workers),
                                       " is possible: ", change.status().message()));
    }
    run.change = *std::move(change);
    PredictTimes(asked.device, run.change->plan.summary);
  }
  PredictTimes(asked.device, run.plan.summary);
  for (ComparedPlan& compared : run.compared) {
    if (compared.plan) PredictTimes(asked.device, compared.plan->summary);
  }
  return run;
}

}  // namespace sdp
