#include "coordinator/service/translate.h"

#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "common/base/status_macros.h"
#include "common/wire/wire.h"

namespace sdp::coordinator {
namespace {

google::protobuf::Timestamp TimeToProto(absl::Time time) {
  google::protobuf::Timestamp proto;
  const int64_t seconds = absl::ToUnixSeconds(time);
  proto.set_seconds(seconds);
  proto.set_nanos(static_cast<int32_t>((time - absl::FromUnixSeconds(seconds)) / absl::Nanoseconds(1)));
  return proto;
}

// Problem with an address that peers are to connect to; empty when it is fine.
std::string AddressProblem(const std::string& address) {
  absl::string_view host = address;
  if (absl::StartsWith(host, "[")) {  // [v6]:port
    const size_t end = host.find(']');
    if (end == absl::string_view::npos) return "has no closing ']'";
    if (host.substr(end + 1) == ":0") return "has port 0, which nobody can connect to";
    host = host.substr(1, end - 1);
  } else if (absl::EndsWith(host, ":0") && host.find(':') == host.size() - 2) {
    return "has port 0, which nobody can connect to";
  }
  if (host.empty()) return "is empty; it must be a host name or address that the other workers can reach";
  if (host == "0.0.0.0" || host == "::" || host == "*" || absl::StartsWith(host, "0.0.0.0:")) {
    return "is a wildcard address; it must be a host name or address that the other workers can reach";
  }
  if (host.find_first_of(" \t\r\n/") != absl::string_view::npos) return "is no host name or address";
  return "";
}

absl::StatusOr<AssignmentKey> KeyFromProto(const v1::AssignmentId& proto) {
  SDP_ASSIGN_OR_RETURN(JobId job, JobIdFromResourceName(proto.job()));
  return AssignmentKey{std::move(job), Epoch(proto.epoch())};
}

v1::AssignmentId KeyToProto(const AssignmentKey& id) {
  v1::AssignmentId proto;
  proto.set_job(JobResourceName(id.job));
  proto.set_epoch(id.epoch.value());
  return proto;
}

absl::StatusOr<AssignmentPhase> PhaseFromProto(v1::AssignmentPhase phase) {
  switch (phase) {
    case v1::ASSIGNMENT_PHASE_PREPARING:
      return AssignmentPhase::kPreparing;
    case v1::ASSIGNMENT_PHASE_READY:
      return AssignmentPhase::kReady;
    case v1::ASSIGNMENT_PHASE_RUNNING:
      return AssignmentPhase::kRunning;
    case v1::ASSIGNMENT_PHASE_EXPORTING:
      return AssignmentPhase::kExporting;
    case v1::ASSIGNMENT_PHASE_FINISHED:
      return AssignmentPhase::kFinished;
    case v1::ASSIGNMENT_PHASE_FAILED:
      return AssignmentPhase::kFailed;
    case v1::ASSIGNMENT_PHASE_ABORTED:
      return AssignmentPhase::kAborted;
    default:
      return absl::InvalidArgumentError(
          absl::StrCat("phase: ", static_cast<int>(phase), " is no phase of an assignment"));
  }
}

StepPhase PhaseFromProto(v1::StepPhase phase) {
  switch (phase) {
    case v1::STEP_PHASE_DATA:
      return StepPhase::kData;
    case v1::STEP_PHASE_FORWARD:
      return StepPhase::kForward;
    case v1::STEP_PHASE_BACKWARD:
      return StepPhase::kBackward;
    case v1::STEP_PHASE_AVERAGE_WAIT:
      return StepPhase::kAverageWait;
    case v1::STEP_PHASE_COMMIT:
      return StepPhase::kCommit;
    case v1::STEP_PHASE_UPDATE:
      return StepPhase::kUpdate;
    case v1::STEP_PHASE_EVALUATE:
      return StepPhase::kEvaluate;
    case v1::STEP_PHASE_EXPORT:
      return StepPhase::kExport;
    default:
      return StepPhase::kNone;
  }
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

v1::JobState StateToProto(JobState state) {
  switch (state) {
    case JobState::kQueued:
      return v1::JOB_STATE_QUEUED;
    case JobState::kPreparing:
      return v1::JOB_STATE_PREPARING;
    case JobState::kRunning:
      return v1::JOB_STATE_RUNNING;
    case JobState::kExporting:
      return v1::JOB_STATE_EXPORTING;
    case JobState::kCancelling:
      return v1::JOB_STATE_CANCELLING;
    case JobState::kFailing:
      return v1::JOB_STATE_FAILING;
    case JobState::kSucceeded:
      return v1::JOB_STATE_SUCCEEDED;
    case JobState::kFailed:
      return v1::JOB_STATE_FAILED;
    case JobState::kCancelled:
      return v1::JOB_STATE_CANCELLED;
  }
  return v1::JOB_STATE_UNSPECIFIED;
}

v1::JobEventKind KindToProto(JobEventKind kind) {
  switch (kind) {
    case JobEventKind::kStateChanged:
      return v1::JOB_EVENT_KIND_STATE_CHANGED;
    case JobEventKind::kWaiting:
      return v1::JOB_EVENT_KIND_WAITING;
    case JobEventKind::kPlanned:
      return v1::JOB_EVENT_KIND_PLANNED;
    case JobEventKind::kWorkerFailed:
      return v1::JOB_EVENT_KIND_WORKER_FAILED;
    case JobEventKind::kStepSkipped:
      return v1::JOB_EVENT_KIND_STEP_SKIPPED;
    case JobEventKind::kEvaluated:
      return v1::JOB_EVENT_KIND_EVALUATED;
    case JobEventKind::kExported:
      return v1::JOB_EVENT_KIND_EXPORTED;
  }
  return v1::JOB_EVENT_KIND_UNSPECIFIED;
}

v1::WorkerState StateToProto(WorkerState state) {
  switch (state) {
    case WorkerState::kIdle:
      return v1::WORKER_STATE_IDLE;
    case WorkerState::kBusy:
      return v1::WORKER_STATE_BUSY;
    case WorkerState::kLost:
      return v1::WORKER_STATE_LOST;
  }
  return v1::WORKER_STATE_UNSPECIFIED;
}

absl::StatusOr<AssignmentStatus> StatusFromProto(const v1::AssignmentStatus& proto) {
  AssignmentStatus status;
  SDP_ASSIGN_OR_RETURN(status.id, KeyFromProto(proto.id()));
  SDP_ASSIGN_OR_RETURN(status.phase, PhaseFromProto(proto.phase()));
  status.plan_digest = proto.plan_digest();
  status.committed_steps = proto.committed_steps();
  status.next_step_ready = proto.next_step_ready();
  if (status.phase == AssignmentPhase::kFailed) {
    const auto code = static_cast<absl::StatusCode>(proto.error_code());
    status.error = absl::Status(code == absl::StatusCode::kOk ? absl::StatusCode::kUnknown : code,
                                proto.error_message());
    status.suspected_worker = WorkerName(proto.suspected_worker());
  }
  for (const v1::ShardFingerprint& shard : proto.shards()) {
    status.shards.push_back({shard.path(), shard.bytes(), shard.sampled_hash()});
  }
  status.exported_files.assign(proto.exported_files().begin(), proto.exported_files().end());
  return status;
}

absl::StatusOr<StepReport> StepReportFromProto(const v1::StepReport& proto) {
  StepReport report;
  SDP_ASSIGN_OR_RETURN(report.id, KeyFromProto(proto.id()));
  report.committed_steps = proto.committed_steps();
  report.phase = PhaseFromProto(proto.phase());
  report.next_step_ready = proto.next_step_ready();
  for (const v1::CommittedStep& step : proto.steps()) {
    report.steps.push_back({step.step(), step.loss(), step.tokens(), step.learning_rate(),
                            step.gradient_norm(), step.skipped()});
  }
  const v1::PhaseSeconds& seconds = proto.phase_seconds();
  report.phase_seconds = {seconds.data(),         seconds.forward(), seconds.backward(),
                          seconds.average_wait(), seconds.commit(),  seconds.update()};
  report.step_seconds = proto.step_seconds();
  report.peak_tensor_bytes = proto.peak_tensor_bytes();
  report.tensor_bytes = proto.tensor_bytes();
  report.resident_bytes = proto.resident_bytes();
  report.bytes_sent = proto.bytes_sent();
  report.bytes_received = proto.bytes_received();
  report.averaging_seconds = proto.averaging_seconds();
  report.exposed_averaging_seconds = proto.exposed_averaging_seconds();
  return report;
}

absl::StatusOr<EvaluationReport> EvaluationFromProto(const v1::EvaluationReport& proto) {
  EvaluationReport report;
  SDP_ASSIGN_OR_RETURN(report.id, KeyFromProto(proto.id()));
  report.step = proto.step();
  report.full_loss = proto.full_loss();
  report.subnetwork_loss = proto.subnetwork_loss();
  report.tokens = proto.tokens();
  return report;
}

absl::StatusOr<Rendezvous> RendezvousFromProto(v1::Rendezvous proto) {
  Rendezvous rendezvous;
  SDP_ASSIGN_OR_RETURN(rendezvous.id, KeyFromProto(proto.id()));
  rendezvous.rank = proto.rank();
  rendezvous.address = std::move(*proto.mutable_address());
  return rendezvous;
}

struct MessageWriter {
  uint64_t coordinator_incarnation;
  v1::ConnectResponse* out;

  void operator()(const Welcome& message) const {
    v1::Welcome* proto = out->mutable_welcome();
    proto->set_protocol_version(kProtocolVersion);
    proto->set_coordinator_incarnation(coordinator_incarnation);
    proto->set_heartbeat_seconds(absl::ToDoubleSeconds(message.heartbeat));
    proto->set_lost_after_seconds(absl::ToDoubleSeconds(message.lost_after));
  }
  void operator()(const Assignment& message) const {
    v1::Assignment* proto = out->mutable_assignment();
    *proto->mutable_id() = KeyToProto(message.id);
    *proto->mutable_spec() = SpecToProto(*message.spec);
    *proto->mutable_plan() = PlanToProto(*message.plan);
    proto->set_rank(message.rank);
    proto->set_prepare_seconds(absl::ToDoubleSeconds(message.prepare_timeout));
    proto->set_collective_seconds(absl::ToDoubleSeconds(message.collective_timeout));
  }
  void operator()(const Start& message) const {
    *out->mutable_start()->mutable_id() = KeyToProto(message.id);
  }
  void operator()(const Abort& message) const {
    *out->mutable_abort()->mutable_id() = KeyToProto(message.id);
    out->mutable_abort()->set_reason(message.reason);
  }
  void operator()(const Rendezvous& message) const {
    v1::Rendezvous* proto = out->mutable_rendezvous();
    *proto->mutable_id() = KeyToProto(message.id);
    proto->set_rank(message.rank);
    proto->set_address(message.address);
  }
};

}  // namespace

absl::StatusOr<Registration> RegistrationFromProto(const v1::Register& proto) {
  if (proto.protocol_version() != kProtocolVersion) {
    return absl::FailedPreconditionError(absl::StrCat("the worker speaks version ", proto.protocol_version(),
                                                      " of the protocol (software ", proto.software_version(),
                                                      "), the coordinator version ", kProtocolVersion,
                                                      "; both must be of the same release"));
  }
  const std::string name_problem = NameProblem(proto.worker());
  if (!name_problem.empty()) {
    return absl::InvalidArgumentError(absl::StrCat("register.worker: '", proto.worker(), "' ", name_problem));
  }
  const std::string address_problem = AddressProblem(proto.data_plane_address());
  if (!address_problem.empty()) {
    return absl::InvalidArgumentError(absl::StrCat("register.data_plane_address of worker ", proto.worker(),
                                                   ": '", proto.data_plane_address(), "' ", address_problem));
  }
  Registration registration;
  registration.worker = WorkerName(proto.worker());
  registration.incarnation = Incarnation(proto.incarnation());
  registration.software_version = proto.software_version();
  registration.data_plane_address = proto.data_plane_address();
  registration.capacity = {proto.capacity().device(), proto.capacity().memory_bytes(),
                           proto.capacity().threads()};
  if (proto.has_current()) {
    SDP_ASSIGN_OR_RETURN(registration.current, StatusFromProto(proto.current()));
  }
  return registration;
}

absl::StatusOr<decltype(WorkerMessage::body)> MessageFromProto(v1::ConnectRequest proto) {
  switch (proto.message_case()) {
    case v1::ConnectRequest::kHeartbeat:
      return Heartbeat{proto.heartbeat().resident_bytes(), proto.heartbeat().tensor_bytes()};
    case v1::ConnectRequest::kAssignmentStatus:
      return StatusFromProto(proto.assignment_status());
    case v1::ConnectRequest::kStepReport:
      return StepReportFromProto(proto.step_report());
    case v1::ConnectRequest::kEvaluationReport:
      return EvaluationFromProto(proto.evaluation_report());
    case v1::ConnectRequest::kRendezvous:
      return RendezvousFromProto(std::move(*proto.mutable_rendezvous()));
    case v1::ConnectRequest::kLeave:
      return Leave{proto.leave().reason()};
    case v1::ConnectRequest::kRegister:
      return absl::InvalidArgumentError("a second Register on one stream");
    case v1::ConnectRequest::MESSAGE_NOT_SET:
      return absl::InvalidArgumentError("an empty message, or one of a kind that is not known here");
  }
  return absl::InvalidArgumentError("a message of a kind that is not known here");
}

v1::ConnectResponse MessageToProto(const ToWorker& message, uint64_t coordinator_incarnation) {
  v1::ConnectResponse proto;
  std::visit(MessageWriter{coordinator_incarnation, &proto}, message);
  return proto;
}

v1::Job JobToProto(const Job& job) {
  v1::Job proto;
  proto.set_name(JobResourceName(job.id));
  *proto.mutable_spec() = SpecToProto(*job.spec);
  proto.set_state(StateToProto(job.state));
  proto.set_state_reason(job.state_reason);
  *proto.mutable_create_time() = TimeToProto(job.create_time);
  if (job.start_time.has_value()) *proto.mutable_start_time() = TimeToProto(*job.start_time);
  if (job.end_time.has_value()) *proto.mutable_end_time() = TimeToProto(*job.end_time);
  if (job.plan != nullptr) *proto.mutable_plan() = PlanToProto(*job.plan);
  *proto.mutable_progress() = ProgressToProto(job.progress);
  if (job.evaluation.has_value()) {
    v1::Evaluation* evaluation = proto.mutable_evaluation();
    evaluation->set_step(job.evaluation->step);
    evaluation->set_full_loss(job.evaluation->full_loss);
    for (double loss : job.evaluation->subnetwork_losses) evaluation->add_subnetwork_losses(loss);
    evaluation->set_tokens(job.evaluation->tokens);
  }
  for (const std::string& file : job.exported_files) proto.add_exported_files(file);
  return proto;
}

v1::JobEvent EventToProto(const JobEvent& event) {
  v1::JobEvent proto;
  proto.set_sequence(event.sequence);
  *proto.mutable_time() = TimeToProto(event.time);
  proto.set_kind(KindToProto(event.kind));
  proto.set_state(StateToProto(event.state));
  proto.set_message(event.message);
  proto.set_worker(event.worker.value());
  proto.set_step(event.step);
  return proto;
}

v1::JobProgress ProgressToProto(const JobProgress& progress) {
  v1::JobProgress proto;
  proto.set_step(progress.step);
  proto.set_total_steps(progress.total_steps);
  proto.set_loss(progress.loss);
  proto.set_tokens(progress.tokens);
  proto.set_tokens_per_second(progress.tokens_per_second);
  proto.set_eta_seconds(progress.eta_seconds);
  proto.set_learning_rate(progress.learning_rate);
  proto.set_gradient_norm(progress.gradient_norm);
  proto.set_step_seconds(progress.step_seconds);
  proto.set_peak_tensor_bytes(progress.peak_tensor_bytes);
  proto.set_bytes_per_step(progress.bytes_per_step);
  proto.set_hidden_averaging_ratio(progress.hidden_averaging_ratio);
  proto.set_skipped_steps(progress.skipped_steps);
  for (const WorkerProgress& worker : progress.workers) {
    v1::WorkerProgress* out = proto.add_workers();
    out->set_worker(worker.worker.value());
    out->set_step(worker.step);
    out->set_phase(PhaseToProto(worker.phase));
    out->set_peak_tensor_bytes(worker.peak_tensor_bytes);
    out->set_tensor_bytes(worker.tensor_bytes);
    out->set_resident_bytes(worker.resident_bytes);
    out->set_bytes_sent(worker.bytes_sent);
    out->set_bytes_received(worker.bytes_received);
  }
  return proto;
}

v1::Worker WorkerToProto(const WorkerRecord& worker) {
  v1::Worker proto;
  proto.set_name(WorkerResourceName(worker.name));
  proto.set_incarnation(worker.incarnation.value());
  proto.set_state(StateToProto(worker.state));
  proto.set_state_reason(worker.state_reason);
  if (worker.occupation.has_value()) {
    proto.set_job(JobResourceName(worker.occupation->id.job));
    proto.set_rank(worker.occupation->rank);
  }
  proto.set_data_plane_address(worker.data_plane_address);
  proto.mutable_capacity()->set_device(worker.capacity.device);
  proto.mutable_capacity()->set_memory_bytes(worker.capacity.memory_bytes);
  proto.mutable_capacity()->set_threads(worker.capacity.threads);
  proto.set_software_version(worker.software_version);
  *proto.mutable_register_time() = TimeToProto(worker.register_time);
  proto.set_resident_bytes(worker.memory.resident_bytes);
  proto.set_tensor_bytes(worker.memory.tensor_bytes);
  return proto;
}

}  // namespace sdp::coordinator
