// What workers and the coordinator tell each other. proto/sdp/v1/worker_service.proto describes the fields;
// common/wire/worker_wire translates.
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
#include "common/model/shard_fingerprint.h"

namespace sdp {

// In the order in which a worker goes through them, up to kFinished.
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
  double relative_speed = 1.0;
};

// A worker introduces itself.
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

// What all ranks know of a step after its commit barrier.
struct CommittedStep {
  int64_t step = 0;    // from 0
  double loss = 0;     // mean over all tokens of the step, nats; not finite when some worker's is not
  int64_t tokens = 0;  // over all workers
  double learning_rate = 0;
  double gradient_norm = 0;  // global, before clipping; 0 when parameters are averaged
  // Not finite somewhere: nobody applied it. When parameters are averaged: some worker left out its own
  // update.
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

struct EvaluationOutcome {
  int64_t step = 0;            // committed steps at the time
  double full_loss = 0;        // nats per token; the same on all ranks
  double subnetwork_loss = 0;  // of this rank
  int64_t tokens = 0;          // that full_loss was measured on
};

struct EvaluationReport {
  AssignmentKey id;
  EvaluationOutcome outcome;
};

// An opaque data-plane address, relayed among the members of an epoch.
struct RendezvousAddress {
  AssignmentKey id;
  Rank rank = 0;
  std::string address;
};

// A worker leaves on purpose.
struct Leave {
  std::string reason;
};

// What a worker says after its Registration.
using FromWorker =
    std::variant<Heartbeat, AssignmentStatus, StepReport, EvaluationReport, RendezvousAddress, Leave>;

// The coordinator accepts a worker.
struct Welcome {
  absl::Duration heartbeat;
  absl::Duration lost_after;
  uint64_t coordinator_incarnation = 0;
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

using ToWorker = std::variant<Welcome, Assignment, Start, Abort, RendezvousAddress>;

}  // namespace sdp
