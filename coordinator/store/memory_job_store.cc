#include "coordinator/store/memory_job_store.h"

#include "absl/strings/str_cat.h"

namespace sdp::coordinator {

absl::Status MemoryJobStore::SaveJob(const Job& job) {
  absl::MutexLock lock(&mutex_);
  jobs_[job.number].job = job;
  numbers_[job.id] = job.number;
  return absl::OkStatus();
}

absl::Status MemoryJobStore::AppendEvent(const JobId& id, const JobEvent& event) {
  absl::MutexLock lock(&mutex_);
  auto number = numbers_.find(id);
  if (number == numbers_.end()) {
    return absl::NotFoundError(absl::StrCat("there is no jobs/", id.value(), " to add an event to"));
  }
  EventLog& events = jobs_[number->second].events;
  if (event.sequence != events.last_sequence() + 1) {
    return absl::FailedPreconditionError(absl::StrCat("event ", event.sequence, " of jobs/", id.value(),
                                                      " does not follow event ", events.last_sequence()));
  }
  events.Append(event);
  return absl::OkStatus();
}

absl::StatusOr<std::vector<StoredJob>> MemoryJobStore::Load() const {
  absl::MutexLock lock(&mutex_);
  std::vector<StoredJob> stored;
  for (const auto& [number, entry] : jobs_) {
    StoredJob job{entry.job, {}};
    for (const JobEvent* event = entry.events.After(0); event != nullptr;
         event = entry.events.After(event->sequence)) {
      job.events.push_back(*event);
    }
    stored.push_back(std::move(job));
  }
  return stored;
}

}  // namespace sdp::coordinator
