#include "worker/agent/session_messages.h"

#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/process_stats.h"
#include "common/base/status_macros.h"
#include "worker/averaging/suspect.h"
#include "worker/training/memory_counter.h"

namespace sdp {
namespace {

// 0 when /proc tells nothing: a report is worth more than its completeness.
int64_t ResidentBytes() {
  const absl::StatusOr<ProcessStats> stats = ReadProcessStats();
  return stats.ok() ? stats->resident_bytes : 0;
}

}  // namespace

absl::StatusOr<SessionAssignment> MakeSessionAssignment(Assignment assignment, const WorkerName& self,
                                                        Incarnation incarnation) {
  const Plan& plan = *assignment.plan;
  const Rank rank = assignment.rank;
  ParameterTable table = MakeParameterTable(assignment.spec->model);
  SDP_RETURN_IF_ERROR(CheckPlan(plan, table, assignment.spec->batch.global_sequences));
  if (rank < 0 || rank >= plan.world_size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("assignment.rank is ", rank, ", the plan has ", plan.world_size(), " members"));
  }
  const PlanMember& member = plan.members[rank];
  if (member.worker != self || member.incarnation != incarnation) {
    return absl::InvalidArgumentError(absl::StrCat(
        "rank ", rank, " of the plan is worker ", member.worker.value(), " incarnation ",
        member.incarnation.value(), ", this is ", self.value(), " incarnation ", incarnation.value()));
  }
  return SessionAssignment{std::move(assignment), std::move(table)};
}

AssignmentStatus MakeStatus(const agent::SendStatus& status, const Session* session) {
  AssignmentStatus message;
  message.id = status.key;
  message.phase = status.phase;
  message.error = status.error;
  if (session == nullptr) return message;
  const Plan& plan = *session->assignment().plan;
  message.plan_digest = plan.digest;
  if (status.phase == AssignmentPhase::kReady) message.shards = session->fingerprints();
  if (status.phase == AssignmentPhase::kFinished) message.exported_files = session->exported_files();
  if (status.phase == AssignmentPhase::kFailed) {
    const std::optional<Rank> suspect = SuspectedRank(status.error);
    if (suspect && *suspect < plan.world_size()) message.suspected_worker = plan.members[*suspect].worker;
  }
  return message;
}

StepReport MakeStepReport(const SessionAssignment& assignment, const SessionProgress& progress) {
  const TrainerStats& stats = progress.stats;
  StepReport report;
  report.id = assignment.id;
  report.committed_steps = stats.committed_steps;
  report.phase = stats.phase;
  report.next_step_ready = stats.next_step_ready;
  if (assignment.rank == 0) report.steps = progress.steps;
  report.phase_seconds = stats.phase_seconds;
  report.step_seconds = stats.step_seconds;
  report.peak_tensor_bytes = stats.peak_tensor_bytes;
  report.tensor_bytes = stats.tensor_bytes;
  report.resident_bytes = ResidentBytes();
  for (Collective collective : {Collective::kAllReduce, Collective::kReduceScatter, Collective::kAllGather}) {
    const ByteCount& bytes = progress.bytes.by_collective[static_cast<int>(collective)];
    report.bytes_sent += bytes.sent;
    report.bytes_received += bytes.received;
  }
  report.averaging_seconds = stats.averaging_seconds;
  report.exposed_averaging_seconds = stats.exposed_averaging_seconds;
  return report;
}

Heartbeat MakeHeartbeat() { return {ResidentBytes(), TensorBytes()}; }

}  // namespace sdp
