#include "worker/agent/assignment_wire.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/process_stats.h"
#include "common/base/status_macros.h"
#include "common/wire/wire.h"
#include "worker/averaging/suspect.h"
#include "worker/training/memory_counter.h"

namespace sdp {
namespace {

v1::AssignmentPhase PhaseToProto(agent::Report report) {
  switch (report) {
    case agent::Report::kPreparing:
      return v1::ASSIGNMENT_PHASE_PREPARING;
    case agent::Report::kReady:
      return v1::ASSIGNMENT_PHASE_READY;
    case agent::Report::kRunning:
      return v1::ASSIGNMENT_PHASE_RUNNING;
    case agent::Report::kFinished:
      return v1::ASSIGNMENT_PHASE_FINISHED;
    case agent::Report::kFailed:
      return v1::ASSIGNMENT_PHASE_FAILED;
    case agent::Report::kAborted:
      return v1::ASSIGNMENT_PHASE_ABORTED;
  }
  return v1::ASSIGNMENT_PHASE_UNSPECIFIED;
}

v1::StepPhase PhaseToProto(StepPhase phase) {
  switch (phase) {
    case StepPhase::kNone:
      return v1::STEP_PHASE_UNSPECIFIED;
    case StepPhase::kData:
      return v1::STEP_PHASE_DATA;
    case StepPhase::kForward:
      return v1::STEP_PHASE_FORWARD;
    case StepPhase::kBackward:
      return v1::STEP_PHASE_BACKWARD;
    case StepPhase::kAverageWait:
      return v1::STEP_PHASE_AVERAGE_WAIT;
    case StepPhase::kCommit:
      return v1::STEP_PHASE_COMMIT;
    case StepPhase::kUpdate:
      return v1::STEP_PHASE_UPDATE;
    case StepPhase::kEvaluate:
      return v1::STEP_PHASE_EVALUATE;
    case StepPhase::kExport:
      return v1::STEP_PHASE_EXPORT;
  }
  return v1::STEP_PHASE_UNSPECIFIED;
}

// 0 when /proc tells nothing: a report is worth more than its completeness.
int64_t ResidentBytes() {
  const absl::StatusOr<ProcessStats> stats = ReadProcessStats();
  return stats.ok() ? stats->resident_bytes : 0;
}

}  // namespace

AssignmentKey KeyFromProto(const v1::AssignmentId& id) {
  // A name that is not a job's becomes a key that matches no assignment.
  absl::StatusOr<JobId> job = JobIdFromResourceName(id.job());
  return {job.ok() ? *job : JobId(), Epoch(id.epoch())};
}

v1::AssignmentId KeyToProto(const AssignmentKey& key) {
  v1::AssignmentId id;
  id.set_job(JobResourceName(key.job));
  id.set_epoch(key.epoch.value());
  return id;
}

absl::StatusOr<SessionAssignment> AssignmentFromProto(const v1::Assignment& proto, const WorkerName& self,
                                                      Incarnation incarnation) {
  SessionAssignment assignment;
  assignment.key = KeyFromProto(proto.id());
  if (std::vector<SpecProblem> problems = ValidateSpec(proto.spec(), &assignment.spec); !problems.empty()) {
    return ProblemsToStatus(problems);
  }
  assignment.table = MakeParameterTable(assignment.spec.model);
  SDP_ASSIGN_OR_RETURN(assignment.plan, PlanFromProto(proto.plan()));
  SDP_RETURN_IF_ERROR(CheckPlan(assignment.plan, assignment.table, assignment.spec.batch.global_sequences));
  assignment.rank = proto.rank();
  if (assignment.rank < 0 || assignment.rank >= assignment.plan.world_size()) {
    return absl::InvalidArgumentError(absl::StrCat("Assignment.rank is ", assignment.rank, ", the plan has ",
                                                   assignment.plan.world_size(), " members"));
  }
  const PlanMember& member = assignment.plan.members[assignment.rank];
  if (member.worker != self || member.incarnation != incarnation) {
    return absl::InvalidArgumentError(absl::StrCat(
        "rank ", assignment.rank, " of the plan is worker ", member.worker.value(), " incarnation ",
        member.incarnation.value(), ", this is ", self.value(), " incarnation ", incarnation.value()));
  }
  assignment.prepare_timeout = absl::Seconds(proto.prepare_seconds());
  assignment.collective_timeout = absl::Seconds(proto.collective_seconds());
  return assignment;
}

v1::AssignmentStatus StatusToProto(const agent::SendStatus& status, const SessionAssignment* assignment) {
  v1::AssignmentStatus proto;
  *proto.mutable_id() = KeyToProto(status.key);
  proto.set_phase(PhaseToProto(status.report));
  if (assignment != nullptr) proto.set_plan_digest(assignment->plan.digest);
  if (status.report == agent::Report::kFailed) {
    proto.set_error_code(static_cast<int>(status.error.code()));
    proto.set_error_message(std::string(status.error.message()));
    const std::optional<Rank> suspect = SuspectedRank(status.error);
    if (assignment != nullptr && suspect && *suspect < assignment->plan.world_size()) {
      proto.set_suspected_worker(assignment->plan.members[*suspect].worker.value());
    }
  }
  return proto;
}

v1::StepReport StepReportToProto(const SessionAssignment& assignment, const SessionProgress& progress) {
  const TrainerStats& stats = progress.stats;
  v1::StepReport proto;
  *proto.mutable_id() = KeyToProto(assignment.key);
  proto.set_committed_steps(stats.committed_steps);
  proto.set_phase(PhaseToProto(stats.phase));
  proto.set_next_step_ready(stats.next_step_ready);
  if (assignment.rank == 0) {
    for (const CommittedStep& step : progress.steps) {
      v1::CommittedStep* out = proto.add_steps();
      out->set_step(step.step);
      out->set_loss(step.loss);
      out->set_tokens(step.tokens);
      out->set_learning_rate(step.learning_rate);
      out->set_gradient_norm(step.gradient_norm);
      out->set_skipped(step.skipped);
    }
  }
  v1::PhaseSeconds* seconds = proto.mutable_phase_seconds();
  seconds->set_data(stats.data_seconds);
  seconds->set_forward(stats.forward_seconds);
  seconds->set_backward(stats.backward_seconds);
  seconds->set_average_wait(stats.average_wait_seconds);
  seconds->set_commit(stats.commit_seconds);
  seconds->set_update(stats.update_seconds);
  proto.set_step_seconds(stats.step_seconds);
  proto.set_peak_tensor_bytes(stats.peak_tensor_bytes);
  proto.set_tensor_bytes(stats.tensor_bytes);
  proto.set_resident_bytes(ResidentBytes());
  for (Collective collective : {Collective::kAllReduce, Collective::kReduceScatter, Collective::kAllGather}) {
    const ByteCount& bytes = progress.bytes.by_collective[static_cast<int>(collective)];
    proto.set_bytes_sent(proto.bytes_sent() + bytes.sent);
    proto.set_bytes_received(proto.bytes_received() + bytes.received);
  }
  proto.set_averaging_seconds(stats.averaging_seconds);
  proto.set_exposed_averaging_seconds(stats.exposed_averaging_seconds);
  return proto;
}

v1::EvaluationReport EvaluationToProto(const AssignmentKey& key, const EvaluationOutcome& outcome) {
  v1::EvaluationReport proto;
  *proto.mutable_id() = KeyToProto(key);
  proto.set_step(outcome.step);
  proto.set_full_loss(outcome.full_loss);
  proto.set_subnetwork_loss(outcome.subnetwork_loss);
  proto.set_tokens(outcome.tokens);
  return proto;
}

v1::Heartbeat MakeHeartbeat() {
  v1::Heartbeat proto;
  proto.set_resident_bytes(ResidentBytes());
  proto.set_tensor_bytes(TensorBytes());
  return proto;
}

}  // namespace sdp
