// Runs the collectives of a mesh one after another on a thread of their own.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "worker/averaging/communicator.h"
#include "worker/averaging/slot.h"
#include "worker/averaging/transport.h"

namespace sdp {

struct GroupMembers {
  uint32_t id = 0;
  std::vector<Rank> ranks;
  int position = 0;  // of this rank
};

// A collective as started on this rank.
struct CollectiveCall {
  Collective collective = Collective::kAllReduce;
  std::shared_ptr<const GroupMembers> group;
  SlotSpace slots;
  void* data = nullptr;
  int64_t elements = 0;  // doubles for kBarrier, floats otherwise
  int other = 0;         // position of the root or of the peer
  bool sends = false;    // of kSendRecv
};

// What the executor's thread calls.
class CollectiveRunner {
 public:
  virtual ~CollectiveRunner() = default;
  // Blocks until the collective is complete on this rank.
  virtual absl::Status Run(const CollectiveCall& call) = 0;
  // Destroys every Memory of the transport: after a failure, before the waiters hear of it, for their buffers
  // may go then.
  virtual void ReleaseMemory() = 0;
};

// For messages: "all-reduce of 10 elements in group 2".
std::string Describe(const CollectiveCall& call);

class Executor {
 public:
  // `runner` must outlive the executor.
  Executor(std::shared_ptr<Transport> transport, absl::Duration timeout, CollectiveRunner& runner);
  // Ends all work with CANCELLED and closes the transport.
  ~Executor();

  // Queues a collective. After a failure the work is complete at once, with that failure.
  std::unique_ptr<Work> Start(CollectiveCall call);
  // See Mesh::Abort.
  void Abort(absl::string_view reason);

 private:
  struct Job;
  struct State;
  class JobWork;

  void Loop();
  // The next job; null when the executor ends or was aborted.
  std::shared_ptr<Job> Next();
  // After a failure: completes all jobs, then closes the transport.
  void GiveUp(const absl::Status& failure);

  const std::shared_ptr<State> state_;  // shared with the works, which may outlive the executor
  CollectiveRunner& runner_;
  bool closed_ = false;  // thread_ only
  std::thread thread_;
};

}  // namespace sdp
