// Threads for work that takes seconds, which gRPC's own few threads must not do: while they are busy,
// nobody's heartbeats are read.
#pragma once

#include <deque>
#include <functional>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"

namespace sdp::coordinator {

// Thread-safe.
class WorkQueue {
 public:
  // At most `max_waiting` pieces of work wait for one of `threads`.
  WorkQueue(int threads, int max_waiting);
  // Does what waits, and returns when all is done.
  ~WorkQueue();
  WorkQueue(const WorkQueue&) = delete;
  WorkQueue& operator=(const WorkQueue&) = delete;

  // Has `work` done, in the order of calls. False: too much waits already, and it never will be.
  bool Add(std::function<void()> work) ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  void Work() ABSL_LOCKS_EXCLUDED(mutex_);
  bool Awake() const ABSL_SHARED_LOCKS_REQUIRED(mutex_) { return stopping_ || !waiting_.empty(); }

  const size_t max_waiting_;
  absl::Mutex mutex_;
  std::deque<std::function<void()>> waiting_ ABSL_GUARDED_BY(mutex_);
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::vector<std::thread> threads_;
};

}  // namespace sdp::coordinator
