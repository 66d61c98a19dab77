#include "worker/agent/agent_core.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "common/base/random.h"

namespace sdp::agent {
namespace {

std::string Describe(const AssignmentKey& key) {
  return absl::StrCat("job ", key.job.value(), " epoch ", key.epoch.value());
}

// Errors of registering that no retry can mend.
bool IsFinal(const absl::Status& status) {
  switch (status.code()) {
    case absl::StatusCode::kInvalidArgument:
    case absl::StatusCode::kFailedPrecondition:
    case absl::StatusCode::kUnimplemented:
    case absl::StatusCode::kAborted:
    case absl::StatusCode::kPermissionDenied:
    case absl::StatusCode::kUnauthenticated:
      return true;
    default:
      return false;
  }
}

}  // namespace

const char* StateName(State state) {
  switch (state) {
    case State::kDisconnected:
      return "disconnected";
    case State::kRegistering:
      return "registering";
    case State::kIdle:
      return "idle";
    case State::kPreparing:
      return "preparing";
    case State::kReady:
      return "ready";
    case State::kRunning:
      return "running";
    case State::kAborting:
      return "aborting";
    case State::kExiting:
      return "exiting";
  }
  return "unknown";
}

std::vector<Effect> AgentCore::Step(const Event& event, absl::Time now) {
  effects_.clear();
  if (state_ != State::kExiting || std::holds_alternative<SessionEnded>(event)) {
    std::visit([&](const auto& e) { On(e, now); }, event);
  }
  return std::move(effects_);
}

absl::Time AgentCore::next_tick() const {
  if (state_ == State::kExiting) return absl::InfiniteFuture();
  if (state_ == State::kDisconnected) return reconnect_at_;
  return std::min(heartbeat_at_, step_report_at_);
}

void AgentCore::On(const Tick&, absl::Time now) {
  if (state_ == State::kDisconnected && now >= reconnect_at_) {
    state_ = State::kRegistering;
    Emit(OpenStream{});
    return;
  }
  if (!connected_) return;
  if (now >= heartbeat_at_) {
    Emit(SendHeartbeat{});
    heartbeat_at_ = now + heartbeat_interval_;
  }
  if (now >= step_report_at_) {
    Emit(SendStepReport{*assignment_});
    step_report_at_ = now + options_.step_report_interval;
  }
}

void AgentCore::On(const Welcomed& event, absl::Time now) {
  if (state_ != State::kRegistering) return;
  state_ = State::kIdle;
  connected_ = true;
  failed_connects_ = 0;
  name_taken_since_.reset();
  heartbeat_interval_ = event.heartbeat_interval;
  heartbeat_at_ = now + heartbeat_interval_;
  Emit(Note{"registered with the coordinator; idle"});
}

void AgentCore::On(const StreamEnded& event, absl::Time now) {
  if (exit_) return;  // on the way out already
  const bool was_connected = connected_;
  connected_ = false;
  heartbeat_at_ = step_report_at_ = absl::InfiniteFuture();
  if (IsFinal(event.status)) {
    GiveUp(absl::Status(event.status.code(),
                        absl::StrCat("the coordinator refused this worker: ", event.status.message())));
    return;
  }
  if (event.status.code() == absl::StatusCode::kAlreadyExists) {
    if (!name_taken_since_) name_taken_since_ = now;
    if (now - *name_taken_since_ >= options_.name_taken_patience) {
      GiveUp(event.status);
      return;
    }
  }
  if (Working()) AbortWork(absl::StrCat("the stream to the coordinator ended: ", event.status.message()));
  ScheduleReconnect(now);
  Emit(Note{absl::StrCat(
      was_connected ? "the stream to the coordinator ended" : "could not register with the coordinator", " (",
      event.status.ToString(), "); trying again in ",
      absl::FormatDuration(absl::Trunc(reconnect_at_ - now, absl::Milliseconds(1))))});
}

void AgentCore::ScheduleReconnect(absl::Time now) {
  // Doubling with jitter, so that workers do not all return at once.
  const absl::Duration base =
      std::min(options_.reconnect_maximum,
               options_.reconnect_minimum * static_cast<double>(1 << std::min(failed_connects_, 10)));
  Random random(options_.jitter_seed + failed_connects_);
  ++failed_connects_;
  reconnect_at_ = now + base * (0.5 + 0.5 * random.Unit());
  // While a session is being aborted, its end comes first: Idle is only true without one.
  if (state_ != State::kAborting) state_ = State::kDisconnected;
}

void AgentCore::On(const AssignmentReceived& event, absl::Time) {
  if (!connected_) return;
  if (Working()) {
    // Refused, never queued: the coordinator assigns idle workers only, so one of the two is mistaken about
    // this worker.
    Emit(SendStatus{
        event.key, AssignmentPhase::kFailed,
        absl::FailedPreconditionError(absl::StrCat("this worker still works on ", Describe(*assignment_)))});
    return;
  }
  assignment_ = event.key;
  state_ = State::kPreparing;
  Emit(Note{absl::StrCat("preparing ", Describe(event.key))});
  Emit(SendStatus{event.key, AssignmentPhase::kPreparing, absl::OkStatus()});
  Emit(StartSession{event.key});
}

void AgentCore::On(const SessionReady& event, absl::Time) {
  if (state_ != State::kPreparing || *assignment_ != event.key) return;
  state_ = State::kReady;
  Emit(SendStatus{event.key, AssignmentPhase::kReady, absl::OkStatus()});
}

void AgentCore::On(const StartReceived& event, absl::Time now) {
  if (state_ != State::kReady || *assignment_ != event.key) {
    Emit(Note{
        absl::StrCat("ignored a start of ", Describe(event.key), ": this worker is ", StateName(state_))});
    return;
  }
  state_ = State::kRunning;
  step_report_at_ = now + options_.step_report_interval;
  Emit(Note{absl::StrCat("training ", Describe(event.key))});
  Emit(SendStatus{event.key, AssignmentPhase::kRunning, absl::OkStatus()});
  Emit(ReleaseSession{event.key});
}

void AgentCore::On(const AbortReceived& event, absl::Time) {
  if (!Working() || *assignment_ != event.key) {
    // Answered all the same: the coordinator waits for this worker to be free of the job.
    if (connected_) Emit(SendStatus{event.key, AssignmentPhase::kAborted, absl::OkStatus()});
    return;
  }
  AbortWork(event.reason);
}

void AgentCore::AbortWork(const std::string& reason) {
  if (state_ == State::kAborting) return;
  state_ = State::kAborting;
  step_report_at_ = absl::InfiniteFuture();
  Emit(Note{absl::StrCat("aborting ", Describe(*assignment_), ": ", reason)});
  Emit(AbortSession{*assignment_, reason});
}

void AgentCore::On(const SessionEnded& event, absl::Time) {
  if (!Working() || *assignment_ != event.key) return;
  const bool aborted = state_ == State::kAborting;
  if (connected_) {
    // The last committed steps go out before the end is reported.
    if (state_ == State::kRunning || aborted) Emit(SendStepReport{event.key});
    if (aborted) {
      Emit(SendStatus{event.key, AssignmentPhase::kAborted, absl::OkStatus()});
    } else if (event.status.ok()) {
      Emit(SendStatus{event.key, AssignmentPhase::kFinished, absl::OkStatus()});
    } else {
      Emit(SendStatus{event.key, AssignmentPhase::kFailed, event.status});
    }
  }
  Emit(
      Note{absl::StrCat("ended ", Describe(event.key), ": ", aborted ? "aborted" : event.status.ToString())});
  Emit(DropSession{event.key});
  assignment_.reset();
  step_report_at_ = absl::InfiniteFuture();
  if (exit_) {
    GiveUp(*exit_);
  } else {
    state_ = connected_ ? State::kIdle : State::kDisconnected;
  }
}

void AgentCore::On(const ShutdownRequested& event, absl::Time) {
  // Said at once, so that the coordinator knows the reason; nothing follows it on the stream.
  if (connected_) Emit(SendLeave{event.reason});
  connected_ = false;
  heartbeat_at_ = absl::InfiniteFuture();
  if (Working()) AbortWork(absl::StrCat("this worker is leaving: ", event.reason));
  GiveUp(absl::OkStatus());
}

void AgentCore::GiveUp(absl::Status status) {
  if (Working()) {
    AbortWork(std::string(status.message()));
    exit_ = status;
    return;
  }
  state_ = State::kExiting;
  connected_ = false;
  Emit(CloseStream{});
  Emit(Exit{std::move(status)});
}

}  // namespace sdp::agent
