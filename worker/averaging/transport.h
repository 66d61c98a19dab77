// Point-to-point messages between the ranks of a mesh: what the collectives run on.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "common/base/ids.h"

namespace sdp {

// A block of memory that messages are sent from and received into. Destroying it makes sure that the
// transport no longer touches the block, whatever is still under way. Belongs to the thread that uses the
// transport.
class Memory {
 public:
  virtual ~Memory() = default;
};

// How a peer went.
enum class Parting {
  kLeft,    // said farewell with nothing pending: what does not need it can still complete
  kLost,    // its connection broke
  kFailed,  // told that its collectives failed, and why
};

// One rank's end of a mesh. One thread at a time sends, receives and waits; Interrupt and the const functions
// may be called from any. Messages from one rank to another with equal slots arrive in order; a message and
// its receive must have the same length. Sends and receives complete only after the other side has posted its
// counterpart.
//
// Errors of all functions are those of Work::Wait: after the first one that is not a peer's kLeft the
// transport is good for nothing but Close.
class Transport {
 public:
  Transport(Rank rank, int world_size) : rank_(rank), left_(world_size, false) {}
  virtual ~Transport() = default;

  Rank rank() const { return rank_; }
  int world_size() const { return static_cast<int>(left_.size()); }

  virtual std::unique_ptr<Memory> CreateMemory(void* data, size_t bytes) = 0;
  // Begin to send or receive bytes [offset, offset + bytes) of the memory; never block.
  virtual absl::Status Send(Rank peer, uint64_t slot, Memory& memory, size_t offset, size_t bytes) = 0;
  virtual absl::Status Recv(Rank peer, uint64_t slot, Memory& memory, size_t offset, size_t bytes) = 0;
  // Block until one more of the memory's sends or receives is complete: the oldest one. All those under way
  // at a time must go to (come from) the one `peer`.
  virtual absl::Status WaitSend(Memory& memory, Rank peer) = 0;
  virtual absl::Status WaitRecv(Memory& memory, Rank peer) = 0;
  // Tells the peers that this rank leaves, or why it failed, and closes all connections. By the last user.
  virtual void Close() = 0;

  // Makes every call, present and future, return `reason`. The first reason stays.
  void Interrupt(absl::Status reason) ABSL_LOCKS_EXCLUDED(mutex_);
  // OK until the first failure.
  absl::Status failure() const ABSL_LOCKS_EXCLUDED(mutex_);
  // The peer that a Wait call is blocked on; -1 when none is.
  Rank waiting_for() const ABSL_LOCKS_EXCLUDED(mutex_);

 protected:
  // Wakes the blocked Wait call, if there is one.
  virtual void Wake() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) = 0;

  // Records how a peer went. For kFailed, `why` is its LastWord.
  void OnParting(Rank peer, Parting parting, absl::Status why) ABSL_LOCKS_EXCLUDED(mutex_);
  // What Close tells the peers: OK for a plain farewell, otherwise why this rank failed. A failure that a
  // peer has reported is passed on as it is: whoever hears of it first must learn the cause.
  absl::Status LastWord() const ABSL_LOCKS_EXCLUDED(mutex_);
  absl::Status FailureLocked() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return failure_; }
  // What an operation that needs `peer` fails with now; OK when it can go on.
  absl::Status Obstacle(Rank peer) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  mutable absl::Mutex mutex_;
  absl::CondVar changed_;  // of what mutex_ guards
  Rank waiting_for_ ABSL_GUARDED_BY(mutex_) = -1;

 private:
  void FailLocked(absl::Status reason) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const Rank rank_;
  absl::Status failure_ ABSL_GUARDED_BY(mutex_);
  bool failure_is_reported_ ABSL_GUARDED_BY(mutex_) = false;  // by a peer, and says by which
  std::vector<bool> left_ ABSL_GUARDED_BY(mutex_);
};

// UNAVAILABLE, naming and suspecting the rank.
absl::Status PeerGone(Rank peer, absl::string_view why);

}  // namespace sdp
