#include "worker/agent/agent.h"

#include <spdlog/spdlog.h>

#include <utility>

#include "common/rpc/options.h"
#include "common/wire/worker_wire.h"
#include "worker/agent/session_messages.h"

namespace sdp {

// Hands what a session tells to the agent: reports go straight to the stream, changes of state through the
// queue.
class Agent::Listener : public SessionListener {
 public:
  Listener(Agent* agent, AssignmentKey key, Rank rank) : agent_(agent), key_(std::move(key)), rank_(rank) {}

  void OnReady() override { agent_->Post(agent::SessionReady{key_}); }
  void OnAddress(const std::string& address) override {
    agent_->Send(RendezvousAddress{key_, rank_, address});
  }
  void OnEnded(const absl::Status& status) override { agent_->Post(agent::SessionEnded{key_, status}); }

 private:
  Agent* const agent_;
  const AssignmentKey key_;
  const Rank rank_;
};

// Tells the core what it must know of a message, and keeps the rest.
struct Agent::InputWriter {
  Input* input;

  void operator()(const Welcome& message) const { input->event = agent::Welcomed{message.heartbeat}; }
  void operator()(Assignment message) const {
    input->event = agent::AssignmentReceived{message.id};
    input->assignment = std::move(message);
  }
  void operator()(const Start& message) const { input->event = agent::StartReceived{message.id}; }
  void operator()(const Abort& message) const {
    input->event = agent::AbortReceived{message.id, message.reason};
  }
  void operator()(RendezvousAddress message) const { input->address = std::move(message); }
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
    if (input.address.has_value()) DeliverAddress(*std::move(input.address));
    if (!input.event.has_value()) continue;
    for (const agent::Effect& effect : core_.Step(*input.event, now)) CarryOut(effect, input);
  }
  return exit_status_;
}

void Agent::RequestShutdown(const std::string& reason) { Post(agent::ShutdownRequested{reason}); }

void Agent::Post(agent::Event event) {
  Input input;
  input.event = std::move(event);
  absl::MutexLock lock(&mutex_);
  inputs_.push_back(std::move(input));
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
  Input tick;
  tick.event = agent::Tick{};
  return tick;
}

void Agent::OnMessage(uint64_t stream, const v1::ConnectResponse& proto) {
  Input input;
  input.stream = stream;
  absl::StatusOr<ToWorker> message = MessageFromProto(proto);
  if (message.ok()) {
    std::visit(InputWriter{&input}, *std::move(message));
  } else if (const auto key = AssignmentKeyFromProto(proto.assignment().id()); key.ok()) {
    // An assignment that cannot be carried out: its job fails for that reason.
    input.event = agent::AssignmentReceived{*key};
    input.assignment = message.status();
  } else if (proto.has_welcome()) {
    // Without it nothing else on the stream makes sense.
    input.event = agent::StreamEnded{message.status()};
  } else {
    spdlog::warn("ignored a message of the coordinator: {}", std::string(message.status().message()));
    return;
  }
  absl::MutexLock lock(&mutex_);
  inputs_.push_back(std::move(input));
}

void Agent::DeliverAddress(RendezvousAddress address) {
  if (session_ == nullptr || session_->assignment().id != address.id) {
    spdlog::info("ignored an address of rank {}: it belongs to job {} epoch {}, not to the current work",
                 address.rank, address.id.job.value(), address.id.epoch.value());
    return;
  }
  session_->AddAddress(address.rank, std::move(address.address));
}

void Agent::Send(const FromWorker& message) {
  std::shared_ptr<WorkerStream> stream;
  {
    absl::MutexLock lock(&mutex_);
    stream = stream_;
  }
  if (stream != nullptr) stream->Send(MessageToProto(message));
}

void Agent::CarryOut(const agent::Effect& effect, const Input& input) {
  std::visit([&](const auto& e) { Do(e, input); }, effect);
}

void Agent::Do(const agent::OpenStream&, const Input& input) {
  Do(agent::CloseStream{}, input);
  Registration registration;
  registration.worker = options_.name;
  registration.incarnation = options_.incarnation;
  registration.software_version = options_.software_version;
  registration.data_plane_address = options_.advertised_address;
  registration.capacity = {"cpu", options_.memory_bytes, options_.threads, options_.relative_speed};
  v1::ConnectRequest request;
  *request.mutable_register_() = RegistrationToProto(registration);

  const uint64_t number = ++stream_number_;
  // A channel of its own for each attempt: a kept one would sit out its own back-off beside the core's.
  auto stream = std::make_shared<WorkerStream>(
      MakeChannel(options_.coordinator), std::move(request),
      [this, number](const v1::ConnectResponse& message) { OnMessage(number, message); },
      [this, number](absl::Status status) {
        if (status.ok()) status = absl::UnavailableError("the coordinator closed the stream");
        Input input;
        input.event = agent::StreamEnded{std::move(status)};
        input.stream = number;
        absl::MutexLock lock(&mutex_);
        inputs_.push_back(std::move(input));
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

void Agent::Do(const agent::SendHeartbeat&, const Input&) { Send(MakeHeartbeat()); }

void Agent::Do(const agent::SendStatus& effect, const Input&) {
  const bool own = session_ != nullptr && session_->assignment().id == effect.key;
  Send(MakeStatus(effect, own ? session_.get() : nullptr));
}

void Agent::Do(const agent::SendStepReport& effect, const Input&) {
  if (session_ == nullptr || session_->assignment().id != effect.key) return;
  const SessionProgress progress = session_->TakeProgress();
  if (metrics_ != nullptr) metrics_->Update(progress.stats, progress.steps, progress.bytes);
  Send(MakeStepReport(session_->assignment(), progress));
  for (const EvaluationOutcome& outcome : progress.evaluations) {
    if (metrics_ != nullptr) metrics_->OnEvaluation(outcome);
    Send(EvaluationReport{effect.key, outcome});
  }
}

void Agent::Do(const agent::SendLeave& effect, const Input&) { Send(Leave{effect.reason}); }

void Agent::Do(const agent::StartSession& effect, const Input& input) {
  absl::StatusOr<SessionAssignment> assignment =
      input.assignment.ok() ? MakeSessionAssignment(*input.assignment, options_.name, options_.incarnation)
                            : input.assignment.status();
  if (!assignment.ok()) {
    Post(agent::SessionEnded{effect.key, assignment.status()});
    return;
  }
  if (metrics_ != nullptr) {
    const int64_t sequences = assignment->plan->members[assignment->rank].sequences;
    metrics_->BeginJob(effect.key.job, sequences * assignment->spec->model.seq_len);
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
