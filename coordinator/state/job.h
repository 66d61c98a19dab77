// A job, its states and its events.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "common/base/ids.h"
#include "common/model/job_spec.h"
#include "common/model/plan.h"
#include "common/model/worker_messages.h"

namespace sdp::coordinator {

enum class JobState {
  kQueued,
  kPreparing,
  kRunning,
  kExporting,
  kCancelling,
  kFailing,
  kSucceeded,
  kFailed,
  kCancelled,
};

// "QUEUED", "PREPARING", ...
const char* JobStateName(JobState state);
bool IsEnded(JobState state);
// Every state, in declaration order.
const std::vector<JobState>& AllJobStates();

// The transition table: every allowed (from, to), and nothing else.
const std::vector<std::pair<JobState, JobState>>& JobTransitions();
// FAILED_PRECONDITION when the table has no such transition.
absl::Status CheckTransition(JobState from, JobState to);

enum class JobEventKind {
  kStateChanged,
  kWaiting,
  kPlanned,
  kWorkerFailed,
  kStepSkipped,
  kEvaluated,
  kExported,
};

const char* JobEventKindName(JobEventKind kind);

struct JobEvent {
  JobEventKind kind = JobEventKind::kStateChanged;
  std::string message;
  WorkerName worker = {};  // empty: about the job
  int64_t step = 0;
  JobState state = JobState::kQueued;  // after the event
  int64_t sequence = 0;                // within its job, from 1, without holes
  absl::Time time = {};
};

// A job's events. The oldest are dropped beyond `capacity`; numbering goes on.
class EventLog {
 public:
  explicit EventLog(size_t capacity = kCapacity) : capacity_(capacity) {}
  static constexpr size_t kCapacity = 10000;

  // Numbers and keeps the event; returns it as kept.
  const JobEvent& Append(JobEvent event);
  // The oldest kept event with a sequence number above `sequence`; null when there is none.
  const JobEvent* After(int64_t sequence) const;
  int64_t last_sequence() const { return dropped_ + static_cast<int64_t>(events_.size()); }
  // Number of events no longer kept: those with sequence 1 to dropped().
  int64_t dropped() const { return dropped_; }

 private:
  size_t capacity_;
  int64_t dropped_ = 0;
  std::deque<JobEvent> events_;
};

struct Evaluation {
  int64_t step = 0;
  double full_loss = 0;
  std::vector<double> subnetwork_losses;  // by rank
  int64_t tokens = 0;
};

struct WorkerProgress {
  WorkerName worker;
  int64_t step = 0;
  StepPhase phase = StepPhase::kNone;
  PhaseSeconds phase_seconds;
  int64_t peak_tensor_bytes = 0;
  int64_t tensor_bytes = 0;
  int64_t resident_bytes = 0;
  int64_t bytes_sent = 0;
  int64_t bytes_received = 0;
};

// Units and meaning: JobProgress in proto/sdp/v1/job.proto.
struct JobProgress {
  int64_t step = 0;
  int64_t total_steps = 0;
  double loss = 0;
  int64_t tokens = 0;
  double tokens_per_second = 0;
  double eta_seconds = 0;
  double learning_rate = 0;
  double gradient_norm = 0;
  double step_seconds = 0;
  int64_t peak_tensor_bytes = 0;
  double bytes_per_step = 0;
  double hidden_averaging_ratio = 0;
  int64_t skipped_steps = 0;
  std::vector<WorkerProgress> workers;
};

// A job as it is stored and shown.
struct Job {
  JobId id;
  int64_t number = 0;      // order of submission, from 1
  std::string request_id;  // empty: none was given
  // The complete spec as canonical bytes: equal exactly for equal specs.
  std::string canonical_spec;
  std::shared_ptr<const JobSpec> spec;
  JobState state = JobState::kQueued;
  std::string state_reason;
  absl::Time create_time;
  std::optional<absl::Time> start_time;
  std::optional<absl::Time> end_time;
  std::shared_ptr<const Plan> plan;  // null before the first
  JobProgress progress;
  std::optional<Evaluation> evaluation;
  std::vector<std::string> exported_files;
};

}  // namespace sdp::coordinator
