// One assignment on this worker: a thread that prepares, waits for the start, trains, validates and exports.
#pragma once

#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "common/base/ids.h"
#include "common/data/token_dataset.h"
#include "common/model/parameter_table.h"
#include "common/model/shard_fingerprint.h"
#include "common/model/worker_messages.h"
#include "worker/agent/worker_metrics.h"
#include "worker/averaging/communicator.h"
#include "worker/training/trainer.h"

namespace sdp {

// What the coordinator assigned, checked, with the table of its model.
struct SessionAssignment : Assignment {
  ParameterTable table;
};

struct SessionOptions {
  std::string bind_address;
  std::string advertised_address;
};

// What a session tells; called on the session's thread, never under a lock.
class SessionListener {
 public:
  virtual ~SessionListener() = default;
  virtual void OnReady() = 0;
  // An address for the other members, to be relayed by the coordinator.
  virtual void OnAddress(const std::string& address) = 0;
  // The last call.
  virtual void OnEnded(const absl::Status& status) = 0;
};

// What a session has done so far.
struct SessionProgress {
  TrainerStats stats;
  // Since the last call of TakeProgress.
  std::vector<CommittedStep> steps;
  std::vector<EvaluationOutcome> evaluations;
  WireBytes bytes;  // since the mesh began
};

// Thread-safe. The destructor aborts what has not ended, and joins.
class Session {
 public:
  Session(SessionAssignment assignment, SessionOptions options, SessionListener* listener);
  ~Session();

  // Lets a prepared session train.
  void Release();
  // Ends the session with CANCELLED as soon as its thread can notice, wherever it is.
  void Abort(const std::string& reason);
  // Delivers a peer's address.
  void AddAddress(Rank rank, std::string address);

  SessionProgress TakeProgress();
  std::vector<ShardFingerprint> fingerprints() const;
  std::vector<std::string> exported_files() const;
  const SessionAssignment& assignment() const { return assignment_; }

 private:
  class RelayedRendezvous;

  void Run();
  absl::Status RunToEnd();
  absl::Status Prepare();
  absl::Status OpenData();
  absl::Status WaitForRelease();
  absl::Status Train();
  absl::Status EvaluateNow();
  absl::Status Export();
  absl::Status AbortedStatus() const;

  const SessionAssignment assignment_;
  const SessionOptions options_;
  SessionListener* const listener_;
  std::shared_ptr<const TokenDataset> train_;
  std::shared_ptr<const TokenDataset> validation_;

  mutable absl::Mutex mutex_;
  bool released_ ABSL_GUARDED_BY(mutex_) = false;
  bool aborted_ ABSL_GUARDED_BY(mutex_) = false;
  bool ended_ ABSL_GUARDED_BY(mutex_) = false;
  std::string abort_reason_ ABSL_GUARDED_BY(mutex_);
  absl::flat_hash_map<Rank, std::string> addresses_ ABSL_GUARDED_BY(mutex_);
  std::unique_ptr<Mesh> mesh_ ABSL_GUARDED_BY(mutex_);        // set once, destroyed last
  std::unique_ptr<Trainer> trainer_ ABSL_GUARDED_BY(mutex_);  // set once
  std::vector<CommittedStep> steps_ ABSL_GUARDED_BY(mutex_);
  std::vector<EvaluationOutcome> evaluations_ ABSL_GUARDED_BY(mutex_);
  std::vector<ShardFingerprint> fingerprints_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::string> exported_files_ ABSL_GUARDED_BY(mutex_);

  std::thread thread_;  // last: it uses everything above
};

}  // namespace sdp
