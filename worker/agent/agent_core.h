// The worker daemon's life as a pure function: events in, effects with reasons out. No IO, threads or clock.
//
//   Disconnected -> Registering -> Idle -> Preparing -> Ready -> Running -> Idle ...
//                                            \____________\________\-> Aborting -> Idle
//
// A stream that ends takes the assignment with it: the coordinator counts the worker as lost at that moment
// and fails the job, so training on would only keep the peers' memory busy.
#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "common/base/ids.h"
#include "common/model/worker_messages.h"

namespace sdp::agent {

enum class State { kDisconnected, kRegistering, kIdle, kPreparing, kReady, kRunning, kAborting, kExiting };

const char* StateName(State state);

// --- Events ---

// The connection was lost, or could not be made.
struct StreamEnded {
  absl::Status status;
};
// The coordinator accepted the registration.
struct Welcomed {
  absl::Duration heartbeat_interval;
};
struct AssignmentReceived {
  AssignmentKey key;
};
struct StartReceived {
  AssignmentKey key;
};
struct AbortReceived {
  AssignmentKey key;
  std::string reason;
};
// The session is prepared and waits to be released.
struct SessionReady {
  AssignmentKey key;
};
// The session's thread has ended: OK when the model is exported, CANCELLED after an abort, anything else is a
// failure.
struct SessionEnded {
  AssignmentKey key;
  absl::Status status;
};
// SIGTERM, SIGINT.
struct ShutdownRequested {
  std::string reason;
};
// Time passes.
struct Tick {};

using Event = std::variant<StreamEnded, Welcomed, AssignmentReceived, StartReceived, AbortReceived,
                           SessionReady, SessionEnded, ShutdownRequested, Tick>;

// --- Effects, to be carried out in order ---

struct OpenStream {};   // and send Register as its first message
struct CloseStream {};  // if there is one
struct SendHeartbeat {};
// Send an AssignmentStatus.
struct SendStatus {
  AssignmentKey key;
  AssignmentPhase phase;
  absl::Status error;  // for kFailed
};
struct SendStepReport {
  AssignmentKey key;
};
struct SendLeave {
  std::string reason;
};
struct StartSession {
  AssignmentKey key;
};
struct ReleaseSession {
  AssignmentKey key;
};
struct AbortSession {
  AssignmentKey key;
  std::string reason;
};
// Join the session's thread and free what it held.
struct DropSession {
  AssignmentKey key;
};
struct Note {
  std::string text;  // for the log: what was decided and why
};
struct Exit {
  absl::Status status;  // OK: asked to
};

using Effect = std::variant<OpenStream, CloseStream, SendHeartbeat, SendStatus, SendStepReport, SendLeave,
                            StartSession, ReleaseSession, AbortSession, DropSession, Note, Exit>;

struct Options {
  absl::Duration reconnect_minimum = absl::Milliseconds(200);
  absl::Duration reconnect_maximum = absl::Seconds(5);
  // How long ALREADY_EXISTS is retried: a worker that was restarted waits for its old process to count as
  // lost.
  absl::Duration name_taken_patience = absl::Seconds(15);
  absl::Duration step_report_interval = absl::Milliseconds(250);
  uint64_t jitter_seed = 0;
};

class AgentCore {
 public:
  explicit AgentCore(Options options) : options_(options) {}

  // The first event must be a Tick.
  std::vector<Effect> Step(const Event& event, absl::Time now);

  State state() const { return state_; }
  // When the next Tick is due.
  absl::Time next_tick() const;

 private:
  void On(const StreamEnded& event, absl::Time now);
  void On(const Welcomed& event, absl::Time now);
  void On(const AssignmentReceived& event, absl::Time now);
  void On(const StartReceived& event, absl::Time now);
  void On(const AbortReceived& event, absl::Time now);
  void On(const SessionReady& event, absl::Time now);
  void On(const SessionEnded& event, absl::Time now);
  void On(const ShutdownRequested& event, absl::Time now);
  void On(const Tick& event, absl::Time now);

  bool Working() const { return assignment_.has_value(); }
  void AbortWork(const std::string& reason);
  void GiveUp(absl::Status status);
  void ScheduleReconnect(absl::Time now);
  template <typename T>
  void Emit(T effect) {
    effects_.push_back(std::move(effect));
  }

  const Options options_;
  State state_ = State::kDisconnected;
  bool connected_ = false;  // registered and welcomed, and not about to leave
  std::optional<AssignmentKey> assignment_;
  std::optional<absl::Status> exit_;  // once the session has ended, exit with this
  int failed_connects_ = 0;
  std::optional<absl::Time> name_taken_since_;
  absl::Time reconnect_at_ = absl::InfinitePast();
  absl::Duration heartbeat_interval_ = absl::Seconds(1);
  absl::Time heartbeat_at_ = absl::InfiniteFuture();
  absl::Time step_report_at_ = absl::InfiniteFuture();
  std::vector<Effect> effects_;
};

}  // namespace sdp::agent
