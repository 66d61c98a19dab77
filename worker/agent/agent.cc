#include "worker/agent/agent.h"

#include <spdlog/spdlog.h>

#include <utility>

#include "common/rpc/options.h"
#include "common/wire/wire.h"
#include "worker/agent/assignment_wire.h"

namespace sdp {

// Hands what a session tells to the agent: reports go straight to the stream, changes of state through the
// queue.
class Agent::Listener : public SessionListener {
 public:
  Listener(Agent* agent, AssignmentKey key, Rank rank) : agent_(agent), key_(std::move(key)), rank_(rank) {}

  void OnReady() override { agent_->Post(agent::SessionReady{key_}); }
  void OnAddress(const std::string& address) override {
    v1::ConnectRequest request;
    v1::Rendezvous* rendezvous = request.mutable_rendezvous();
    *rendezvous->mutable_id() = KeyToProto(key_);
    rendezvous->set_rank(rank_);
    rendezvous->set_address(address);
    agent_->Send(std::move(request));
  }
  void OnEnded(const absl::Status& status) override { agent_->Post(agent::SessionEnded{key_, status}); }

 private:
  Agent* const agent_;
  const AssignmentKey key_;
  const Rank rank_;
};

Agent::Agent(AgentOptions options, WorkerMetrics* metrics)
    : options_(std::move(options)), metrics_(metrics), core_([&] {
        agent::Options core;
        core.jitter_seed = options_.incarnation.value();
        return core;
      }()) {}

Agent::~Agent() = default;

absl::Status Agent::Run() {
  while (!exiting_) {
    Input input = NextInput(core_.next_tick());
    const absl::Time now = clock_.Now();
    if (input.message.has_rendezvous()) {
      DeliverAddress(input.message.rendezvous());
      continue;
    }
    for (const agent::Effect& effect : core_.Step(input.event, now)) CarryOut(effect, input);
  }
  return exit_status_;
}

void Agent::RequestShutdown(const std::string& reason) { Post(agent::ShutdownRequested{reason}); }

void Agent::Post(agent::Event event) {
  absl::MutexLock lock(&mutex_);
  inputs_.push_back({std::move(event), {}, 0});
}

// The next input, or a Tick at `deadline`. Inputs of an earlier stream than the current one are dropped: each
// belongs to a registration that is over.
Agent::Input Agent::NextInput(absl::Time deadline) {
  absl::MutexLock lock(&mutex_);
  const auto any = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return !inputs_.empty(); };
  while (mutex_.AwaitWithTimeout(absl::Condition(&any), deadline - clock_.Now())) {
    Input input = std::move(inputs_.front());
    inputs_.pop_front();
    if (input.stream == 0 || input.stream == stream_number_) return input;
  }
  return {agent::Tick{}, {}, 0};
}

void Agent::OnMessage(uint64_t stream, v1::ConnectResponse message) {
  Input input;
  input.stream = stream;
  switch (message.message_case()) {
    case v1::ConnectResponse::kWelcome:
      input.event = agent::Welcomed{absl::Seconds(message.welcome().heartbeat_seconds())};
      break;
    case v1::ConnectResponse::kAssignment:
      input.event = agent::AssignmentReceived{KeyFromProto(message.assignment().id())};
      break;
    case v1::ConnectResponse::kStart:
      input.event = agent::StartReceived{KeyFromProto(message.start().id())};
      break;
    case v1::ConnectResponse::kAbort:
      input.event = agent::AbortReceived{KeyFromProto(message.abort().id()), message.abort().reason()};
      break;
    case v1::ConnectResponse::kRendezvous:
    case v1::ConnectResponse::MESSAGE_NOT_SET:
      input.event = agent::Tick{};
      break;
  }
  input.message = std::move(message);
  absl::MutexLock lock(&mutex_);
  inputs_.push_back(std::move(input));
}

void Agent::DeliverAddress(const v1::Rendezvous& rendezvous) {
  if (session_ == nullptr || session_->assignment().key != KeyFromProto(rendezvous.id())) {
    spdlog::info("ignored an address of rank {}: it belongs to {} epoch {}, not to the current work",
                 rendezvous.rank(), rendezvous.id().job(), rendezvous.id().epoch());
    return;
  }
  session_->AddAddress(rendezvous.rank(), rendezvous.address());
}

void Agent::Send(v1::ConnectRequest message) {
  std::shared_ptr<WorkerStream> stream;
  {
    absl::MutexLock lock(&mutex_);
    stream = stream_;
  }
  if (stream != nullptr) stream->Send(std::move(message));
}

void Agent::CarryOut(const agent::Effect& effect, const Input& input) {
  std::visit([&](const auto& e) { Do(e, input); }, effect);
}

void Agent::Do(const agent::OpenStream&, const Input& input) {
  Do(agent::CloseStream{}, input);
  v1::ConnectRequest request;
  v1::Register* registration = request.mutable_register_();
  registration->set_protocol_version(kProtocolVersion);
  registration->set_worker(options_.name.value());
  registration->set_incarnation(options_.incarnation.value());
  registration->set_software_version(options_.software_version);
  registration->set_data_plane_address(options_.advertised_address);
  v1::WorkerCapacity* capacity = registration->mutable_capacity();
  capacity->set_device("cpu");
  capacity->set_memory_bytes(options_.memory_bytes);
  capacity->set_threads(options_.threads);

  const uint64_t number = ++stream_number_;
  // A channel of its own for each attempt: a kept one would sit out its own back-off beside the core's.
  auto stream = std::make_shared<WorkerStream>(
      MakeChannel(options_.coordinator), std::move(request),
      [this, number](v1::ConnectResponse message) { OnMessage(number, std::move(message)); },
      [this, number](absl::Status status) {
        if (status.ok()) status = absl::UnavailableError("the coordinator closed the stream");
        absl::MutexLock lock(&mutex_);
        inputs_.push_back({agent::StreamEnded{std::move(status)}, {}, number});
      });
  absl::MutexLock lock(&mutex_);
  stream_ = std::move(stream);
}

void Agent::Do(const agent::CloseStream&, const Input&) {
  std::shared_ptr<WorkerStream> stream;
  {
    absl::MutexLock lock(&mutex_);
    stream = std::exchange(stream_, nullptr);
  }
  ++stream_number_;  // nothing that it still says counts
  if (stream != nullptr) stream->CloseAndWait(absl::Seconds(1));
}

void Agent::Do(const agent::SendHeartbeat&, const Input&) {
  v1::ConnectRequest request;
  *request.mutable_heartbeat() = MakeHeartbeat();
  Send(std::move(request));
}

void Agent::Do(const agent::SendStatus& effect, const Input&) {
  const bool own = session_ != nullptr && session_->assignment().key == effect.key;
  v1::ConnectRequest request;
  v1::AssignmentStatus* status = request.mutable_assignment_status();
  *status = StatusToProto(effect, own ? &session_->assignment() : nullptr);
  if (own && effect.report == agent::Report::kReady) {
    for (const ShardFingerprint& shard : session_->fingerprints()) {
      v1::ShardFingerprint* out = status->add_shards();
      out->set_path(shard.path);
      out->set_bytes(shard.bytes);
      out->set_sampled_hash(shard.sampled_hash);
    }
  }
  if (own && effect.report == agent::Report::kFinished) {
    for (const std::string& file : session_->exported_files()) status->add_exported_files(file);
  }
  Send(std::move(request));
}

void Agent::Do(const agent::SendStepReport& effect, const Input&) {
  if (session_ == nullptr || session_->assignment().key != effect.key) return;
  const SessionProgress progress = session_->TakeProgress();
  if (metrics_ != nullptr) metrics_->Update(progress.stats, progress.steps, progress.bytes);
  v1::ConnectRequest request;
  *request.mutable_step_report() = StepReportToProto(session_->assignment(), progress);
  Send(std::move(request));
  for (const EvaluationOutcome& outcome : progress.evaluations) {
    if (metrics_ != nullptr) metrics_->OnEvaluation(outcome);
    v1::ConnectRequest evaluation;
    *evaluation.mutable_evaluation_report() = EvaluationToProto(effect.key, outcome);
    Send(std::move(evaluation));
  }
}

void Agent::Do(const agent::SendLeave& effect, const Input&) {
  v1::ConnectRequest request;
  request.mutable_leave()->set_reason(effect.reason);
  Send(std::move(request));
}

void Agent::Do(const agent::StartSession& effect, const Input& input) {
  absl::StatusOr<SessionAssignment> assignment =
      AssignmentFromProto(input.message.assignment(), options_.name, options_.incarnation);
  if (!assignment.ok()) {
    Post(agent::SessionEnded{effect.key, assignment.status()});
    return;
  }
  if (metrics_ != nullptr) {
    const int64_t sequences = assignment->plan.members[assignment->rank].sequences;
    metrics_->BeginJob(effect.key.job, sequences * assignment->spec.model.seq_len);
  }
  listener_ = std::make_unique<Listener>(this, effect.key, assignment->rank);
  session_ = std::make_unique<Session>(*std::move(assignment),
                                       SessionOptions{options_.bind_address, options_.advertised_address},
                                       listener_.get());
}

void Agent::Do(const agent::ReleaseSession&, const Input&) {
  if (session_ != nullptr) session_->Release();
}

void Agent::Do(const agent::AbortSession& effect, const Input&) {
  if (session_ != nullptr) session_->Abort(effect.reason);
}

void Agent::Do(const agent::DropSession&, const Input&) {
  session_.reset();
  listener_.reset();
  if (metrics_ != nullptr) metrics_->EndJob();
}

void Agent::Do(const agent::Note& effect, const Input&) { spdlog::info("{}", effect.text); }

void Agent::Do(const agent::Exit& effect, const Input&) {
  exiting_ = true;
  exit_status_ = effect.status;
}

}  // namespace sdp
