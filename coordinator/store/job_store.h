// Where jobs and their events are kept. The shell saves before it says anything to anyone.
#pragma once

#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/base/ids.h"
#include "coordinator/state/job.h"

namespace sdp::coordinator {

struct StoredJob {
  Job job;
  std::vector<JobEvent> events;  // those still kept, by sequence number
};

class JobStore {
 public:
  virtual ~JobStore() = default;
  // Creates or replaces the job of this id. UNAVAILABLE, RESOURCE_EXHAUSTED: cannot be written.
  virtual absl::Status SaveJob(const Job& job) = 0;
  // Adds the job's next event. NOT_FOUND: no such job; FAILED_PRECONDITION: not the next sequence number;
  // UNAVAILABLE, RESOURCE_EXHAUSTED: cannot be written.
  virtual absl::Status AppendEvent(const JobId& id, const JobEvent& event) = 0;
  // Everything, by number of the job. DATA_LOSS: damaged.
  virtual absl::StatusOr<std::vector<StoredJob>> Load() const = 0;
};

}  // namespace sdp::coordinator
