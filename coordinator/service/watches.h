// The streams of WatchJob. Each watch takes its next message from the core whenever the last one is sent, so
// a slow watcher costs one message, gets every event that is still kept, and the latest progress only.
#pragma once

#include <map>
#include <memory>
#include <set>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "coordinator/service/core_runner.h"
#include "sdp/v1/job_service.grpc.pb.h"

namespace sdp::coordinator {

// Shortest time between two progress messages of one watch.
inline constexpr absl::Duration kProgressInterval = absl::Milliseconds(250);

// Thread-safe. Must outlive the server whose calls it serves.
class Watches {
 public:
  explicit Watches(CoreRunner* runner) : runner_(*runner) {}

  grpc::ServerWriteReactor<v1::WatchJobResponse>* Start(const v1::WatchJobRequest& request);

  // The job may have something to tell.
  void Notify(const JobId& id);
  // Every job may have progress to tell.
  void NotifyAll();
  // Ends all watches, present and future.
  void ShutDown(const absl::Status& status);

 private:
  class Watch;

  void Remove(const std::shared_ptr<Watch>& watch);

  CoreRunner& runner_;

  absl::Mutex mutex_;
  std::map<JobId, std::set<std::shared_ptr<Watch>>> watches_ ABSL_GUARDED_BY(mutex_);
  absl::Status shutdown_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace sdp::coordinator
