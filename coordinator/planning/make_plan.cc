#include "coordinator/planning/make_plan.h"

#include <set>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_format.h"
#include "common/base/status_macros.h"
#include "coordinator/planning/bucketing.h"
#include "coordinator/planning/check_memory.h"
#include "coordinator/planning/choose_mask.h"
#include "coordinator/planning/plan_costs.h"

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

void SplitSequences(int global_sequences, std::vector<PlanMember>& members) {
  const int workers = static_cast<int>(members.size());
  int first = 0;
  for (Rank rank = 0; rank < workers; ++rank) {
    members[rank].first_sequence = first;
    members[rank].sequences = global_sequences / workers + (rank < global_sequences % workers ? 1 : 0);
    first += members[rank].sequences;
  }
}

}  // namespace

absl::StatusOr<Plan> MakePlan(const JobSpec& spec, const ParameterTable& table,
                              std::vector<PlanMember> members, Epoch epoch, int64_t first_step) {
  SDP_RETURN_IF_ERROR(CheckMembers(members, spec.batch.global_sequences));
  SplitSequences(spec.batch.global_sequences, members);

  Plan plan;
  plan.epoch = epoch;
  plan.members = std::move(members);
  plan.first_step = first_step;
  SDP_ASSIGN_OR_RETURN(plan.mask, ChooseMask(spec.masking, plan.world_size(), MaskableSizes(table)));
  Bucketing bucketing = MakeBuckets(table, plan.mask);
  plan.holder_sets = std::move(bucketing.holder_sets);
  plan.buckets = std::move(bucketing.buckets);
  plan.digest = PlanDigest(plan);
  plan.summary = SummarizePlan(spec, table, plan);
  SDP_RETURN_IF_ERROR(CheckMemory(spec, table, plan));
  return plan;
}

}  // namespace sdp
