#include "coordinator/state/job.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace sdp::coordinator {

const char* JobStateName(JobState state) {
  switch (state) {
    case JobState::kQueued:
      return "QUEUED";
    case JobState::kPreparing:
      return "PREPARING";
    case JobState::kRunning:
      return "RUNNING";
    case JobState::kExporting:
      return "EXPORTING";
    case JobState::kCancelling:
      return "CANCELLING";
    case JobState::kFailing:
      return "FAILING";
    case JobState::kSucceeded:
      return "SUCCEEDED";
    case JobState::kFailed:
      return "FAILED";
    case JobState::kCancelled:
      return "CANCELLED";
  }
  return "unknown";
}

bool IsEnded(JobState state) {
  return state == JobState::kSucceeded || state == JobState::kFailed || state == JobState::kCancelled;
}

const std::vector<JobState>& AllJobStates() {
  static const std::vector<JobState>& states =
      *new std::vector<JobState>{JobState::kQueued,    JobState::kPreparing,  JobState::kRunning,
                                 JobState::kExporting, JobState::kCancelling, JobState::kFailing,
                                 JobState::kSucceeded, JobState::kFailed,     JobState::kCancelled};
  return states;
}

const std::vector<std::pair<JobState, JobState>>& JobTransitions() {
  using S = JobState;
  static const auto& table = *new std::vector<std::pair<JobState, JobState>>{
      {S::kQueued, S::kPreparing},
      // A queued job has no worker to stop: it ends at once. It fails when no plan is possible.
      {S::kQueued, S::kCancelled},
      {S::kQueued, S::kFailed},
      {S::kPreparing, S::kRunning},
      {S::kPreparing, S::kCancelling},
      {S::kPreparing, S::kFailing},
      {S::kRunning, S::kExporting},
      {S::kRunning, S::kCancelling},
      {S::kRunning, S::kFailing},
      {S::kExporting, S::kSucceeded},
      {S::kExporting, S::kCancelling},
      {S::kExporting, S::kFailing},
      {S::kCancelling, S::kCancelled},
      {S::kFailing, S::kFailed},
  };
  return table;
}

absl::Status CheckTransition(JobState from, JobState to) {
  const auto& table = JobTransitions();
  if (std::find(table.begin(), table.end(), std::make_pair(from, to)) != table.end()) {
    return absl::OkStatus();
  }
  return absl::FailedPreconditionError(
      absl::StrCat("a job cannot go from ", JobStateName(from), " to ", JobStateName(to)));
}

const char* JobEventKindName(JobEventKind kind) {
  switch (kind) {
    case JobEventKind::kStateChanged:
      return "STATE_CHANGED";
    case JobEventKind::kWaiting:
      return "WAITING";
    case JobEventKind::kPlanned:
      return "PLANNED";
    case JobEventKind::kWorkerFailed:
      return "WORKER_FAILED";
    case JobEventKind::kStepSkipped:
      return "STEP_SKIPPED";
    case JobEventKind::kEvaluated:
      return "EVALUATED";
    case JobEventKind::kExported:
      return "EXPORTED";
  }
  return "unknown";
}

const JobEvent& EventLog::Append(JobEvent event) {
  event.sequence = last_sequence() + 1;
  events_.push_back(std::move(event));
  if (events_.size() > capacity_) {
    events_.pop_front();
    ++dropped_;
  }
  return events_.back();
}

const JobEvent* EventLog::After(int64_t sequence) const {
  const int64_t index = std::max<int64_t>(sequence - dropped_, 0);
  return index < static_cast<int64_t>(events_.size()) ? &events_[index] : nullptr;
}

}  // namespace sdp::coordinator
