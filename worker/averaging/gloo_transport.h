// Messages over Gloo's TCP pairs.
//
// What Gloo of May 2022 does and does not do, and what follows:
// - An UnboundBuffer that goes away while its message is under way leaves its connection unusable and
//   Gloo's loop thread busy: after a failure all connections are closed.
// - When a connection breaks, a waiter whose own message was already partly transferred is not woken: the
//   pair tells us, and we wake it.
// - A wait that times out inside Gloo closes all connections: waits have no timeout here and are aborted.
// - Closing a connection on this side wakes nobody on this side.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "gloo/transport/context.h"
#include "worker/averaging/transport.h"

namespace sdp {

class GlooMemory;

class GlooTransport : public Transport {
 public:
  // All pairs of `context` but the rank's own are connected GuardedPairs.
  explicit GlooTransport(std::shared_ptr<gloo::transport::Context> context);
  ~GlooTransport() override;

  std::unique_ptr<Memory> CreateMemory(void* data, size_t bytes) override;
  absl::Status Send(Rank peer, uint64_t slot, Memory& memory, size_t offset, size_t bytes) override;
  absl::Status Recv(Rank peer, uint64_t slot, Memory& memory, size_t offset, size_t bytes) override;
  absl::Status WaitSend(Memory& memory, Rank peer) override;
  absl::Status WaitRecv(Memory& memory, Rank peer) override;
  void Close() override;

 private:
  struct Farewell;
  struct Peer;

  void Wake() override ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  // Runs `wait`, which blocks on the memory's buffer and returns false when aborted.
  template <typename Wait>
  absl::Status Await(GlooMemory& memory, Rank peer, Wait wait) ABSL_LOCKS_EXCLUDED(mutex_);
  // Why an operation with `peer` failed, with `what` Gloo said.
  absl::Status Cause(const GlooMemory& memory, Rank peer, const char* what) ABSL_LOCKS_EXCLUDED(mutex_);
  void OnClosed(const Peer& peer);
  void SendFarewells();

  std::shared_ptr<gloo::transport::Context> context_;
  std::vector<std::unique_ptr<Peer>> peers_;  // all but this rank
  gloo::transport::UnboundBuffer* blocked_on_ ABSL_GUARDED_BY(mutex_) = nullptr;
};

}  // namespace sdp
