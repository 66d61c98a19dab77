// Who is in the cluster, alive or lost, idle or busy. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "common/base/ids.h"
#include "common/model/plan.h"
#include "common/model/worker_messages.h"
#include "coordinator/state/timing.h"

namespace sdp::coordinator {

// One stream of a worker, numbered by the shell; never used twice.
using SessionId = StrongId<struct SessionIdTag, int64_t>;

enum class WorkerState { kIdle, kBusy, kLost };
// "IDLE", "BUSY", "LOST".
const char* WorkerStateName(WorkerState state);

// What a busy worker works for.
struct Occupation {
  AssignmentKey id;
  Rank rank = 0;
  // Set when the job has ended without this worker's answer: it must report within this time.
  std::optional<absl::Time> stop_deadline;
};

struct WorkerRecord {
  WorkerName name;
  Incarnation incarnation;
  SessionId session;
  WorkerState state = WorkerState::kIdle;
  std::string state_reason;
  std::optional<Occupation> occupation;  // exactly while busy
  std::string data_plane_address;
  WorkerCapacity capacity;
  std::string software_version;
  absl::Time register_time;
  absl::Time last_sign_of_life;
  Heartbeat memory;
};

// The worker as a member of a plan; its samples are the planner's to give.
PlanMember MemberOf(const WorkerRecord& worker);

// A worker that has just been lost.
struct Loss {
  WorkerName worker;
  SessionId session;
  std::optional<Occupation> occupation;
  std::string reason;   // "no heartbeat for 5s"
  absl::Status status;  // to end its stream with, if that is still open
};

// Limits of membership that are no settings.
inline constexpr absl::Duration kStopTimeout = absl::Seconds(30);
inline constexpr absl::Duration kForgetLostAfter = absl::Hours(1);

// Identity of a process is (name, incarnation); a session is one stream of it. A worker whose stream ends is
// lost, even if the same process connects again a moment later: without elastic epochs its peers' collectives
// could not go on anyway.
class Membership {
 public:
  explicit Membership(const Timing& timing) : timing_(timing) {}

  struct Admission {
    absl::Status status;
    // The former session of the same process, when that was still open.
    std::optional<Loss> replaced;
  };
  // ALREADY_EXISTS: another live process has the name. ABORTED: a newer incarnation has been seen.
  Admission Register(const Registration& registration, SessionId session, absl::Time now);

  // The live worker whose current stream is `session`; null for any other stream.
  const WorkerRecord* BySession(SessionId session) const;
  const WorkerRecord* Find(const WorkerName& name) const;
  const std::map<WorkerName, WorkerRecord>& workers() const { return workers_; }
  // Idle workers by name.
  std::vector<WorkerName> Idle() const;

  // Anything heard on a live session is a sign of life; a heartbeat carries the memory as well.
  void SignOfLife(SessionId session, absl::Time now);
  void SetMemory(SessionId session, const Heartbeat& heartbeat);

  // The stream ended, or the worker left. Nothing when the session is not a live worker's.
  std::optional<Loss> Disconnect(SessionId session, const std::string& reason);
  // Everybody whose heartbeats stopped, or who did not stop when told to.
  std::vector<Loss> Tick(absl::Time now);

  // idle -> busy.
  void Occupy(const WorkerName& name, Occupation occupation, const std::string& reason);
  // Its job has ended but it has not answered: busy until Release, or lost at the deadline.
  void AwaitStop(const WorkerName& name, const AssignmentKey& id, const std::string& reason, absl::Time now);
  // busy -> idle.
  void Release(const WorkerName& name, const std::string& reason);

 private:
  Loss Lose(WorkerRecord& record, std::string reason, absl::StatusCode code);
  WorkerRecord& At(const WorkerName& name);

  const Timing timing_;
  std::map<WorkerName, WorkerRecord> workers_;
  std::map<SessionId, WorkerName> sessions_;  // of live workers only
};

}  // namespace sdp::coordinator
