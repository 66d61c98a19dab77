// The coordinator's gauges and counters, brought up to date from the core at each tick.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "common/metrics/registry.h"
#include "coordinator/state/coordinator_core.h"

namespace sdp::coordinator {

// What the metrics show, taken from the core under its lock; cheap.
struct ClusterSnapshot {
  struct RunningJob {
    JobId id;
    std::shared_ptr<const Plan> plan;
    JobProgress progress;  // without its workers
    std::optional<double> validation_loss;
  };
  std::map<JobState, int> jobs;
  std::map<WorkerState, int> workers;
  std::vector<RunningJob> running;  // jobs with workers
};
ClusterSnapshot TakeSnapshot(const CoordinatorCore& core);

// A job's series appear with its first snapshot and go with the first that no longer has it. Thread-safe.
class ClusterMetrics {
 public:
  explicit ClusterMetrics(Registry* registry);
  ~ClusterMetrics();

  void Update(const ClusterSnapshot& snapshot);

 private:
  struct JobSeries;

  Registry& registry_;
  absl::Mutex mutex_;
  Series cluster_ ABSL_GUARDED_BY(mutex_);
  std::map<JobId, std::unique_ptr<JobSeries>> jobs_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace sdp::coordinator
