#include "coordinator/planning/make_plan.h"

#include <numeric>
#include <set>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_format.h"
#include "common/base/status_macros.h"
#include "coordinator/planning/bucketing.h"
#include "coordinator/planning/check_memory.h"
#include "coordinator/planning/choose_mask.h"
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

// What the spec asks for on these members. Their names matter only when they are not alike: equal workers are
// told apart by rank.
MaskProblem JobMaskProblem(const JobSpec& spec, const ParameterTable& table,
                           const std::vector<PlanMember>& members) {
  const std::vector<double> sizes = MaskableSizes(table);
  MaskProblem problem = ProblemOf(spec.masking, static_cast<int>(members.size()), sizes);
  const double maskable = std::accumulate(sizes.begin(), sizes.end(), 0.0);
  problem.shared_size = static_cast<double>(table.elements) - maskable;
  problem.shared_memory_bytes = static_cast<int64_t>(problem.shared_size) * kHeldBytesPerParameter;
  for (const Component& component : table.components) {
    if (component.shared()) continue;
    problem.components[component.mask_column].name = component.name;
    problem.components[component.mask_column].time = component.flops_per_token;
  }
  const std::vector<WorkerProfile>& profiles = spec.workers.profiles;
  for (size_t i = 0; i < profiles.size(); ++i) {
    problem.workers[i].name = members[i].worker.value();
    problem.workers[i].profile = profiles[i];
  }
  // With so few sequences for each, whole ones cannot even out the step times.
  constexpr int kFewSequences = 4;
  problem.equal_samples = spec.batch.global_sequences < kFewSequences * static_cast<int>(members.size());
  return problem;
}

// Fills in the members' sequences: equal shares, or for unequal workers such that their step times are as
// equal as whole sequences allow.
void AssignSequences(const JobSpec& spec, const ParameterTable& table, Plan& plan) {
  std::vector<double> seconds(plan.members.size(), 1.0);
  for (size_t i = 0; i < spec.workers.profiles.size(); ++i) {
    seconds[i] = 0;
    for (const Component& component : table.components) {
      if (plan.Holds(static_cast<Rank>(i), component)) seconds[i] += component.flops_per_token;
    }
    seconds[i] /= spec.workers.profiles[i].relative_speed;
  }
  const std::vector<int> shares = SplitSequences(spec.batch.global_sequences, seconds);
  int first = 0;
  for (Rank rank = 0; rank < plan.world_size(); ++rank) {
    plan.members[rank].first_sequence = first;
    plan.members[rank].sequences = shares[rank];
    first += shares[rank];
  }
}

}  // namespace

absl::StatusOr<Plan> MakePlan(const JobSpec& spec, const ParameterTable& table,
                              std::vector<PlanMember> members, Epoch epoch, int64_t first_step) {
  SDP_RETURN_IF_ERROR(CheckMembers(members, spec.batch.global_sequences));
  const std::vector<WorkerProfile>& profiles = spec.workers.profiles;
  if (!profiles.empty() && profiles.size() != members.size()) {
    return absl::FailedPreconditionError(absl::StrFormat(
        "workers.profiles has %d entries, but there are %d workers; give one for each, or none",
        profiles.size(), members.size()));
  }

  Plan plan;
  plan.epoch = epoch;
  plan.members = std::move(members);
  plan.first_step = first_step;
  SDP_ASSIGN_OR_RETURN(plan.mask, ChooseMask(JobMaskProblem(spec, table, plan.members)));
  AssignSequences(spec, table, plan);
  Bucketing bucketing = MakeBuckets(table, plan.mask);
  plan.holder_sets = std::move(bucketing.holder_sets);
  plan.buckets = std::move(bucketing.buckets);
  plan.digest = PlanDigest(plan);
  plan.summary = SummarizePlan(spec, table, plan);
  SDP_RETURN_IF_ERROR(CheckMemory(spec, table, plan));
  return plan;
}

}  // namespace sdp
