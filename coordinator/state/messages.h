// What workers and the coordinator tell each other, as the pure cores see it. proto/sdp/v1 describes the
// fields; coordinator/service translates.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "common/base/ids.h"
#include "common/model/job_spec.h"
#include "common/model/plan.h"

namespace sdp::coordinator {

// One stream of a worker, numbered by the shell; never used twice.
using SessionId = StrongId<struct SessionIdTag, int64_t>;

enum class AssignmentPhase { kPreparing, kReady, kRunning, kExporting, kFinished, kFailed, kAborted };

// "preparing", "ready", ...
const char* PhaseName(AssignmentPhase phase);
// Whether the worker is idle again after reporting `phase`.
bool IsTerminal(AssignmentPhase phase);

enum class StepPhase {
  kNone,
  kData,
  kForward,
  kBackward,
  kAverageWait,
  kCommit,
  kUpdate,
  kEvaluate,
  kExport,
};

// "data", "forward", "average wait", ...
const char* PhaseName(StepPhase phase);

struct ShardFingerprint {
  std::string path;
  int64_t bytes = 0;
  std::string sampled_hash;
};

struct AssignmentStatus {
  AssignmentKey id;
  std::string plan_digest;
  AssignmentPhase phase = AssignmentPhase::kPreparing;
  int64_t committed_steps = 0;
  bool next_step_ready = false;
  absl::Status error;                       // for kFailed
  WorkerName suspected_worker;              // for kFailed; may be empty
  std::vector<ShardFingerprint> shards;     // for kReady
  std::vector<std::string> exported_files;  // for kFinished
};

struct WorkerCapacity {
  std::string device;
  int64_t memory_bytes = 0;
  int threads = 0;
};

// A worker introduces itself. Its name and address have been checked by the shell.
struct Registration {
  WorkerName worker;
  Incarnation incarnation;
  std::string software_version;
  std::string data_plane_address;
  WorkerCapacity capacity;
  std::optional<AssignmentStatus> current;
};

struct Heartbeat {
  int64_t resident_bytes = 0;
  int64_t tensor_bytes = 0;
};

struct CommittedStep {
  int64_t step = 0;  // from 0
  double loss = 0;   // nats per token
  int64_t tokens = 0;
  double learning_rate = 0;
  double gradient_norm = 0;
  bool skipped = false;
};

struct PhaseSeconds {
  double data = 0, forward = 0, backward = 0, average_wait = 0, commit = 0, update = 0;
};

struct StepReport {
  AssignmentKey id;
  int64_t committed_steps = 0;
  StepPhase phase = StepPhase::kNone;
  bool next_step_ready = false;
  std::vector<CommittedStep> steps;  // rank 0 only
  PhaseSeconds phase_seconds;
  double step_seconds = 0;
  int64_t peak_tensor_bytes = 0;
  int64_t tensor_bytes = 0;
  int64_t resident_bytes = 0;
  int64_t bytes_sent = 0;
  int64_t bytes_received = 0;
  double averaging_seconds = 0;
  double exposed_averaging_seconds = 0;
};

struct EvaluationReport {
  AssignmentKey id;
  int64_t step = 0;
  double full_loss = 0;
  double subnetwork_loss = 0;
  int64_t tokens = 0;
};

// An opaque data-plane address, relayed among the members of an epoch.
struct Rendezvous {
  AssignmentKey id;
  Rank rank = 0;
  std::string address;
};

// The messages to a worker.
struct Welcome {
  absl::Duration heartbeat;
  absl::Duration lost_after;
};

struct Assignment {
  AssignmentKey id;
  std::shared_ptr<const JobSpec> spec;
  std::shared_ptr<const Plan> plan;
  Rank rank = 0;
  absl::Duration prepare_timeout;
  absl::Duration collective_timeout;
};

struct Start {
  AssignmentKey id;
};

struct Abort {
  AssignmentKey id;
  std::string reason;
};

using ToWorker = std::variant<Welcome, Assignment, Start, Abort, Rendezvous>;

// Times and limits of the coordinator. The defaults are those of the flags in main.cc.
struct Timing {
  absl::Duration heartbeat = absl::Seconds(1);
  // Without a heartbeat for this long a worker is lost.
  absl::Duration lost_after = absl::Seconds(5);
  // From Assignment until every member is ready.
  absl::Duration prepare_timeout = absl::Seconds(120);
  // Least time without progress after which a running job fails; grows with the measured step time.
  absl::Duration progress_timeout = absl::Seconds(30);
  // The same while a member validates or writes the model: no step is committed then.
  absl::Duration long_phase_timeout = absl::Minutes(10);
  // Limit of one collective, passed on to the workers.
  absl::Duration collective_timeout = absl::Seconds(60);
};

}  // namespace sdp::coordinator
