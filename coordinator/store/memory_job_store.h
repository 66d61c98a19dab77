// Jobs in memory: gone with the process.
#pragma once

#include <map>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "coordinator/store/job_store.h"

namespace sdp::coordinator {

// Thread-safe.
class MemoryJobStore : public JobStore {
 public:
  absl::Status SaveJob(const Job& job) override;
  absl::Status AppendEvent(const JobId& id, const JobEvent& event) override;
  absl::StatusOr<std::vector<StoredJob>> Load() const override;

 private:
  struct Entry {
    Job job;
    EventLog events;
  };
  mutable absl::Mutex mutex_;
  std::map<int64_t, Entry> jobs_ ABSL_GUARDED_BY(mutex_);  // by number
  std::map<JobId, int64_t> numbers_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace sdp::coordinator
