#include "common/wire/worker_wire.h"

#include <string>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "common/wire/enum_maps.h"
#include "common/wire/field_checks.h"
#include "common/wire/wire.h"

namespace sdp {
namespace {

constexpr std::pair<AssignmentPhase, v1::AssignmentPhase> kAssignmentPhases[] = {
    {AssignmentPhase::kPreparing, v1::ASSIGNMENT_PHASE_PREPARING},
    {AssignmentPhase::kReady, v1::ASSIGNMENT_PHASE_READY},
    {AssignmentPhase::kRunning, v1::ASSIGNMENT_PHASE_RUNNING},
    {AssignmentPhase::kExporting, v1::ASSIGNMENT_PHASE_EXPORTING},
    {AssignmentPhase::kFinished, v1::ASSIGNMENT_PHASE_FINISHED},
    {AssignmentPhase::kFailed, v1::ASSIGNMENT_PHASE_FAILED},
    {AssignmentPhase::kAborted, v1::ASSIGNMENT_PHASE_ABORTED},
};
constexpr std::pair<StepPhase, v1::StepPhase> kStepPhases[] = {
    {StepPhase::kNone, v1::STEP_PHASE_UNSPECIFIED},
    {StepPhase::kData, v1::STEP_PHASE_DATA},
    {StepPhase::kForward, v1::STEP_PHASE_FORWARD},
    {StepPhase::kBackward, v1::STEP_PHASE_BACKWARD},
    {StepPhase::kAverageWait, v1::STEP_PHASE_AVERAGE_WAIT},
    {StepPhase::kCommit, v1::STEP_PHASE_COMMIT},
    {StepPhase::kUpdate, v1::STEP_PHASE_UPDATE},
    {StepPhase::kEvaluate, v1::STEP_PHASE_EVALUATE},
    {StepPhase::kExport, v1::STEP_PHASE_EXPORT},
};

// `message`, unless something was wrong with it.
template <typename Result, typename Message>
absl::StatusOr<Result> Checked(const FieldChecks& checks, Message message) {
  if (!checks.problems().empty()) return ProblemsToStatus(checks.problems());
  return Result(std::move(message));
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

v1::AssignmentId KeyToProto(const AssignmentKey& key) {
  v1::AssignmentId proto;
  proto.set_job(JobResourceName(key.job));
  proto.set_epoch(key.epoch.value());
  return proto;
}

AssignmentKey KeyFromProto(const v1::AssignmentId& proto, const std::string& field, FieldChecks& checks) {
  const absl::StatusOr<JobId> job = JobIdFromResourceName(proto.job());
  if (!job.ok()) {
    checks.Add(field + ".job", absl::StrCat("is \"", proto.job(), "\"; must be of the form jobs/NAME"));
  }
  return {job.value_or(JobId()), Epoch(checks.AtLeast(field + ".epoch", proto.epoch(), 1))};
}

v1::AssignmentStatus StatusToProto(const AssignmentStatus& status) {
  v1::AssignmentStatus proto;
  *proto.mutable_id() = KeyToProto(status.id);
  proto.set_plan_digest(status.plan_digest);
  proto.set_phase(ToWire(kAssignmentPhases, status.phase));
  proto.set_committed_steps(status.committed_steps);
  proto.set_next_step_ready(status.next_step_ready);
  if (status.phase == AssignmentPhase::kFailed) {
    proto.set_error_code(static_cast<int>(status.error.code()));
    proto.set_error_message(std::string(status.error.message()));
    proto.set_suspected_worker(status.suspected_worker.value());
  }
  for (const ShardFingerprint& shard : status.shards) {
    v1::ShardFingerprint* out = proto.add_shards();
    out->set_path(shard.path);
    out->set_bytes(shard.bytes);
    out->set_sampled_hash(shard.sampled_hash);
  }
  for (const std::string& file : status.exported_files) proto.add_exported_files(file);
  return proto;
}

AssignmentStatus StatusFromProto(const v1::AssignmentStatus& proto, const std::string& field,
                                 FieldChecks& checks) {
  AssignmentStatus status;
  status.id = KeyFromProto(proto.id(), field + ".id", checks);
  status.plan_digest = proto.plan_digest();
  if (proto.phase() == v1::ASSIGNMENT_PHASE_UNSPECIFIED) checks.Add(field + ".phase", "is required");
  status.phase = checks.Known(field + ".phase", kAssignmentPhases, proto.phase());
  status.committed_steps = checks.AtLeast(field + ".committed_steps", proto.committed_steps(), 0);
  status.next_step_ready = proto.next_step_ready();
  if (status.phase == AssignmentPhase::kFailed) {
    // A failure is one, whatever its code says.
    const auto code = static_cast<absl::StatusCode>(proto.error_code());
    status.error = absl::Status(code == absl::StatusCode::kOk ? absl::StatusCode::kUnknown : code,
                                proto.error_message());
    status.suspected_worker = WorkerName(proto.suspected_worker());
  }
  for (int i = 0; i < proto.shards_size(); ++i) {
    const v1::ShardFingerprint& shard = proto.shards(i);
    checks.AtLeast(absl::StrCat(field, ".shards[", i, "].bytes"), shard.bytes(), 0);
    status.shards.push_back({shard.path(), shard.bytes(), shard.sampled_hash()});
  }
  status.exported_files.assign(proto.exported_files().begin(), proto.exported_files().end());
  return status;
}

void Write(const PhaseSeconds& seconds, v1::PhaseSeconds* proto) {
  proto->set_data(seconds.data);
  proto->set_forward(seconds.forward);
  proto->set_backward(seconds.backward);
  proto->set_average_wait(seconds.average_wait);
  proto->set_commit(seconds.commit);
  proto->set_update(seconds.update);
}

PhaseSeconds SecondsFromProto(const v1::PhaseSeconds& proto, const std::string& field, FieldChecks& checks) {
  PhaseSeconds seconds;
  seconds.data = checks.Finite(field + ".data", proto.data());
  seconds.forward = checks.Finite(field + ".forward", proto.forward());
  seconds.backward = checks.Finite(field + ".backward", proto.backward());
  seconds.average_wait = checks.Finite(field + ".average_wait", proto.average_wait());
  seconds.commit = checks.Finite(field + ".commit", proto.commit());
  seconds.update = checks.Finite(field + ".update", proto.update());
  return seconds;
}

void Write(const CommittedStep& step, v1::CommittedStep* proto) {
  proto->set_step(step.step);
  proto->set_loss(step.loss);
  proto->set_tokens(step.tokens);
  proto->set_learning_rate(step.learning_rate);
  proto->set_gradient_norm(step.gradient_norm);
  proto->set_skipped(step.skipped);
}

// A loss or norm need not be finite: such steps are skipped, and reported.
CommittedStep StepFromProto(const v1::CommittedStep& proto, const std::string& field, FieldChecks& checks) {
  CommittedStep step;
  step.step = checks.AtLeast(field + ".step", proto.step(), 0);
  step.loss = proto.loss();
  step.tokens = checks.AtLeast(field + ".tokens", proto.tokens(), 0);
  step.learning_rate = proto.learning_rate();
  step.gradient_norm = proto.gradient_norm();
  step.skipped = proto.skipped();
  return step;
}

void Write(const RendezvousAddress& message, v1::Rendezvous* proto) {
  *proto->mutable_id() = KeyToProto(message.id);
  proto->set_rank(message.rank);
  proto->set_address(message.address);
}

// Writes a worker's message.
struct RequestWriter {
  v1::ConnectRequest* out;

  void operator()(const Heartbeat& message) const {
    out->mutable_heartbeat()->set_resident_bytes(message.resident_bytes);
    out->mutable_heartbeat()->set_tensor_bytes(message.tensor_bytes);
  }
  void operator()(const AssignmentStatus& message) const {
    *out->mutable_assignment_status() = StatusToProto(message);
  }
  void operator()(const StepReport& message) const {
    v1::StepReport* proto = out->mutable_step_report();
    *proto->mutable_id() = KeyToProto(message.id);
    proto->set_committed_steps(message.committed_steps);
    proto->set_phase(StepPhaseToProto(message.phase));
    proto->set_next_step_ready(message.next_step_ready);
    for (const CommittedStep& step : message.steps) Write(step, proto->add_steps());
    Write(message.phase_seconds, proto->mutable_phase_seconds());
    proto->set_step_seconds(message.step_seconds);
    proto->set_peak_tensor_bytes(message.peak_tensor_bytes);
    proto->set_tensor_bytes(message.tensor_bytes);
    proto->set_resident_bytes(message.resident_bytes);
    proto->set_bytes_sent(message.bytes_sent);
    proto->set_bytes_received(message.bytes_received);
    proto->set_averaging_seconds(message.averaging_seconds);
    proto->set_exposed_averaging_seconds(message.exposed_averaging_seconds);
  }
  void operator()(const EvaluationReport& message) const {
    v1::EvaluationReport* proto = out->mutable_evaluation_report();
    *proto->mutable_id() = KeyToProto(message.id);
    proto->set_step(message.outcome.step);
    proto->set_full_loss(message.outcome.full_loss);
    proto->set_subnetwork_loss(message.outcome.subnetwork_loss);
    proto->set_tokens(message.outcome.tokens);
  }
  void operator()(const RendezvousAddress& message) const { Write(message, out->mutable_rendezvous()); }
  void operator()(const Leave& message) const { out->mutable_leave()->set_reason(message.reason); }
};

// Writes the coordinator's message.
struct ResponseWriter {
  v1::ConnectResponse* out;

  void operator()(const Welcome& message) const {
    v1::Welcome* proto = out->mutable_welcome();
    proto->set_protocol_version(kProtocolVersion);
    proto->set_coordinator_incarnation(message.coordinator_incarnation);
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
  void operator()(const RendezvousAddress& message) const { Write(message, out->mutable_rendezvous()); }
};

Heartbeat Read(const v1::Heartbeat& proto, FieldChecks& checks) {
  return {checks.AtLeast("heartbeat.resident_bytes", proto.resident_bytes(), 0),
          checks.AtLeast("heartbeat.tensor_bytes", proto.tensor_bytes(), 0)};
}

StepReport Read(const v1::StepReport& proto, FieldChecks& checks) {
  const std::string name = "step_report";
  StepReport report;
  report.id = KeyFromProto(proto.id(), name + ".id", checks);
  report.committed_steps = checks.AtLeast(name + ".committed_steps", proto.committed_steps(), 0);
  report.phase = checks.Known(name + ".phase", kStepPhases, proto.phase());
  report.next_step_ready = proto.next_step_ready();
  for (int i = 0; i < proto.steps_size(); ++i) {
    report.steps.push_back(StepFromProto(proto.steps(i), absl::StrCat(name, ".steps[", i, "]"), checks));
  }
  report.phase_seconds = SecondsFromProto(proto.phase_seconds(), name + ".phase_seconds", checks);
  report.step_seconds = checks.Finite(name + ".step_seconds", proto.step_seconds());
  report.peak_tensor_bytes = checks.AtLeast(name + ".peak_tensor_bytes", proto.peak_tensor_bytes(), 0);
  report.tensor_bytes = checks.AtLeast(name + ".tensor_bytes", proto.tensor_bytes(), 0);
  report.resident_bytes = checks.AtLeast(name + ".resident_bytes", proto.resident_bytes(), 0);
  report.bytes_sent = checks.AtLeast(name + ".bytes_sent", proto.bytes_sent(), 0);
  report.bytes_received = checks.AtLeast(name + ".bytes_received", proto.bytes_received(), 0);
  report.averaging_seconds = checks.Finite(name + ".averaging_seconds", proto.averaging_seconds());
  report.exposed_averaging_seconds =
      checks.Finite(name + ".exposed_averaging_seconds", proto.exposed_averaging_seconds());
  return report;
}

EvaluationReport Read(const v1::EvaluationReport& proto, FieldChecks& checks) {
  EvaluationReport report;
  report.id = KeyFromProto(proto.id(), "evaluation_report.id", checks);
  report.outcome.step = checks.AtLeast("evaluation_report.step", proto.step(), 0);
  report.outcome.full_loss = proto.full_loss();
  report.outcome.subnetwork_loss = proto.subnetwork_loss();
  report.outcome.tokens = checks.AtLeast("evaluation_report.tokens", proto.tokens(), 0);
  return report;
}

RendezvousAddress Read(const v1::Rendezvous& proto, FieldChecks& checks) {
  RendezvousAddress message;
  message.id = KeyFromProto(proto.id(), "rendezvous.id", checks);
  message.rank = static_cast<Rank>(checks.AtLeast("rendezvous.rank", proto.rank(), 0));
  message.address = proto.address();
  return message;
}

absl::Duration DurationFromProto(double seconds, const std::string& field, FieldChecks& checks) {
  return absl::Seconds(checks.Finite(
      field, seconds, [](double value) { return value > 0; }, "a finite number of seconds above 0"));
}

Welcome Read(const v1::Welcome& proto, FieldChecks& checks) {
  Welcome welcome;
  welcome.heartbeat = DurationFromProto(proto.heartbeat_seconds(), "welcome.heartbeat_seconds", checks);
  welcome.lost_after = DurationFromProto(proto.lost_after_seconds(), "welcome.lost_after_seconds", checks);
  welcome.coordinator_incarnation = proto.coordinator_incarnation();
  return welcome;
}

Assignment Read(const v1::Assignment& proto, FieldChecks& checks) {
  Assignment assignment;
  assignment.id = KeyFromProto(proto.id(), "assignment.id", checks);
  JobSpec spec;
  for (const SpecProblem& problem : ValidateSpec(proto.spec(), &spec)) {
    checks.Add("assignment.spec", ProblemText(problem));
  }
  assignment.spec = std::make_shared<const JobSpec>(std::move(spec));
  absl::StatusOr<Plan> plan = PlanFromProto(proto.plan());
  if (plan.ok()) {
    assignment.plan = std::make_shared<const Plan>(*std::move(plan));
  } else {
    checks.Add("assignment.plan", std::string(plan.status().message()));
  }
  assignment.rank = static_cast<Rank>(checks.AtLeast("assignment.rank", proto.rank(), 0));
  assignment.prepare_timeout =
      DurationFromProto(proto.prepare_seconds(), "assignment.prepare_seconds", checks);
  assignment.collective_timeout =
      DurationFromProto(proto.collective_seconds(), "assignment.collective_seconds", checks);
  return assignment;
}

}  // namespace

v1::Register RegistrationToProto(const Registration& registration) {
  v1::Register proto;
  proto.set_protocol_version(kProtocolVersion);
  proto.set_worker(registration.worker.value());
  proto.set_incarnation(registration.incarnation.value());
  proto.set_software_version(registration.software_version);
  proto.set_data_plane_address(registration.data_plane_address);
  *proto.mutable_capacity() = WorkerCapacityToProto(registration.capacity);
  if (registration.current.has_value()) *proto.mutable_current() = StatusToProto(*registration.current);
  return proto;
}

absl::StatusOr<Registration> RegistrationFromProto(const v1::Register& proto) {
  if (proto.protocol_version() != kProtocolVersion) {
    return absl::FailedPreconditionError(absl::StrCat("the worker speaks version ", proto.protocol_version(),
                                                      " of the protocol (software ", proto.software_version(),
                                                      "), the coordinator version ", kProtocolVersion,
                                                      "; both must be of the same release"));
  }
  FieldChecks checks;
  if (const std::string problem = NameProblem(proto.worker()); !problem.empty()) {
    checks.Add("register.worker", absl::StrCat("'", proto.worker(), "' ", problem));
  }
  if (const std::string problem = AddressProblem(proto.data_plane_address()); !problem.empty()) {
    checks.Add("register.data_plane_address",
               absl::StrCat("'", proto.data_plane_address(), "' of worker ", proto.worker(), " ", problem));
  }
  Registration registration;
  registration.worker = WorkerName(proto.worker());
  registration.incarnation = Incarnation(proto.incarnation());
  registration.software_version = proto.software_version();
  registration.data_plane_address = proto.data_plane_address();
  registration.capacity.device = proto.capacity().device();
  registration.capacity.memory_bytes =
      checks.AtLeast("register.capacity.memory_bytes", proto.capacity().memory_bytes(), 0);
  registration.capacity.threads =
      static_cast<int>(checks.AtLeast("register.capacity.threads", proto.capacity().threads(), 0));
  registration.capacity.relative_speed =
      checks.RelativeSpeed("register.capacity.relative_speed", proto.capacity().relative_speed(), 1.0);
  if (proto.has_current()) {
    registration.current = StatusFromProto(proto.current(), "register.current", checks);
  }
  return Checked<Registration>(checks, std::move(registration));
}

v1::ConnectRequest MessageToProto(const FromWorker& message) {
  v1::ConnectRequest proto;
  std::visit(RequestWriter{&proto}, message);
  return proto;
}

absl::StatusOr<FromWorker> MessageFromProto(const v1::ConnectRequest& proto) {
  FieldChecks checks;
  const auto checked = [&checks](auto message) { return Checked<FromWorker>(checks, std::move(message)); };
  switch (proto.message_case()) {
    case v1::ConnectRequest::kHeartbeat:
      return checked(Read(proto.heartbeat(), checks));
    case v1::ConnectRequest::kAssignmentStatus:
      return checked(StatusFromProto(proto.assignment_status(), "assignment_status", checks));
    case v1::ConnectRequest::kStepReport:
      return checked(Read(proto.step_report(), checks));
    case v1::ConnectRequest::kEvaluationReport:
      return checked(Read(proto.evaluation_report(), checks));
    case v1::ConnectRequest::kRendezvous:
      return checked(Read(proto.rendezvous(), checks));
    case v1::ConnectRequest::kLeave:
      return Leave{proto.leave().reason()};
    case v1::ConnectRequest::kRegister:
      return absl::InvalidArgumentError("a second Register on one stream");
    case v1::ConnectRequest::MESSAGE_NOT_SET:
      break;
  }
  return absl::InvalidArgumentError("an empty message, or one of a kind that is not known here");
}

v1::ConnectResponse MessageToProto(const ToWorker& message) {
  v1::ConnectResponse proto;
  std::visit(ResponseWriter{&proto}, message);
  return proto;
}

absl::StatusOr<ToWorker> MessageFromProto(const v1::ConnectResponse& proto) {
  FieldChecks checks;
  const auto checked = [&checks](auto message) { return Checked<ToWorker>(checks, std::move(message)); };
  switch (proto.message_case()) {
    case v1::ConnectResponse::kWelcome:
      return checked(Read(proto.welcome(), checks));
    case v1::ConnectResponse::kAssignment:
      return checked(Read(proto.assignment(), checks));
    case v1::ConnectResponse::kStart:
      return checked(Start{KeyFromProto(proto.start().id(), "start.id", checks)});
    case v1::ConnectResponse::kAbort:
      return checked(Abort{KeyFromProto(proto.abort().id(), "abort.id", checks), proto.abort().reason()});
    case v1::ConnectResponse::kRendezvous:
      return checked(Read(proto.rendezvous(), checks));
    case v1::ConnectResponse::MESSAGE_NOT_SET:
      break;
  }
  return absl::InvalidArgumentError("an empty message, or one of a kind that is not known here");
}

absl::StatusOr<AssignmentKey> AssignmentKeyFromProto(const v1::AssignmentId& proto) {
  FieldChecks checks;
  return Checked<AssignmentKey>(checks, KeyFromProto(proto, "id", checks));
}

v1::StepPhase StepPhaseToProto(StepPhase phase) { return ToWire(kStepPhases, phase); }

v1::WorkerCapacity WorkerCapacityToProto(const WorkerCapacity& capacity) {
  v1::WorkerCapacity proto;
  proto.set_device(capacity.device);
  proto.set_memory_bytes(capacity.memory_bytes);
  proto.set_threads(capacity.threads);
  proto.set_relative_speed(capacity.relative_speed);
  return proto;
}

}  // namespace sdp
