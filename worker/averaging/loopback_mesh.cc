#include "worker/averaging/loopback_mesh.h"

#include <algorithm>
#include <cstring>
#include <deque>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "worker/averaging/collective_mesh.h"
#include "worker/averaging/transport.h"

namespace sdp {
namespace {

class LoopbackTransport;

// A block of memory of one rank, with the number of its sends and receives that are complete and not yet
// waited for.
class LoopbackMemory : public Memory {
 public:
  LoopbackMemory(LoopbackTransport& owner, void* data) : owner(owner), data(static_cast<char*>(data)) {}
  ~LoopbackMemory() override;

  LoopbackTransport& owner;
  char* const data;
  int sent = 0;  // both guarded by the owner's mutex
  int received = 0;
};

// One side of a message whose other side is not there yet.
struct Posted {
  uint64_t slot = 0;
  LoopbackMemory* memory = nullptr;
  size_t offset = 0;
  size_t bytes = 0;
};

// Messages from one rank to another. Whoever posts second copies.
class Wire {
 public:
  // Either hands `posted` to the waiting other side or leaves it for that.
  void Send(const Posted& send) ABSL_LOCKS_EXCLUDED(mutex_);
  void Recv(const Posted& recv) ABSL_LOCKS_EXCLUDED(mutex_);
  // Afterwards nothing is read from or written to the memory.
  void Forget(const LoopbackMemory* memory) ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  static bool TakeMatch(std::deque<Posted>& waiting, uint64_t slot, Posted& match);
  static void Deliver(const Posted& send, const Posted& recv);

  absl::Mutex mutex_;  // held while copying, so that Forget can wait for it
  std::deque<Posted> sends_ ABSL_GUARDED_BY(mutex_);
  std::deque<Posted> recvs_ ABSL_GUARDED_BY(mutex_);
};

// What the ranks of a mesh share.
class Hub {
 public:
  explicit Hub(int world_size) : wires_(world_size * world_size), members_(world_size, nullptr) {}

  Wire& wire(Rank from, Rank to) { return wires_[from * members_.size() + to]; }
  void Join(LoopbackTransport* member) ABSL_LOCKS_EXCLUDED(mutex_);
  // The member is gone; the others hear its last word.
  void Leave(const LoopbackTransport* member, const absl::Status& last_word) ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  std::deque<Wire> wires_;
  absl::Mutex mutex_;
  std::vector<LoopbackTransport*> members_ ABSL_GUARDED_BY(mutex_);  // by rank; null when gone
};

class LoopbackTransport : public Transport {
 public:
  LoopbackTransport(Rank rank, int world_size, std::shared_ptr<Hub> hub)
      : Transport(rank, world_size), hub_(std::move(hub)) {
    hub_->Join(this);
  }
  ~LoopbackTransport() override { Close(); }

  std::unique_ptr<Memory> CreateMemory(void* data, size_t) override {
    return std::make_unique<LoopbackMemory>(*this, data);
  }
  absl::Status Send(Rank peer, uint64_t slot, Memory& memory, size_t offset, size_t bytes) override;
  absl::Status Recv(Rank peer, uint64_t slot, Memory& memory, size_t offset, size_t bytes) override;
  absl::Status WaitSend(Memory& memory, Rank peer) override {
    return WaitFor(static_cast<LoopbackMemory&>(memory).sent, peer);
  }
  absl::Status WaitRecv(Memory& memory, Rank peer) override {
    return WaitFor(static_cast<LoopbackMemory&>(memory).received, peer);
  }
  void Close() override { hub_->Leave(this, LastWord()); }

  void Complete(int& count) ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    ++count;
    changed_.SignalAll();
  }
  void Forget(const LoopbackMemory* memory);
  void OnPeer(Rank peer, const absl::Status& last_word) {
    OnParting(peer, last_word.ok() ? Parting::kLeft : Parting::kFailed, last_word);
  }

 private:
  absl::Status WaitFor(int& count, Rank peer) ABSL_LOCKS_EXCLUDED(mutex_);
  absl::Status ObstacleTo(Rank peer) const ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    return Obstacle(peer);
  }
  void Wake() override { changed_.SignalAll(); }

  const std::shared_ptr<Hub> hub_;
};

LoopbackMemory::~LoopbackMemory() { owner.Forget(this); }

bool Wire::TakeMatch(std::deque<Posted>& waiting, uint64_t slot, Posted& match) {
  for (auto it = waiting.begin(); it != waiting.end(); ++it) {
    if (it->slot != slot) continue;
    match = *it;
    waiting.erase(it);
    return true;
  }
  return false;
}

void Wire::Deliver(const Posted& send, const Posted& recv) {
  std::memcpy(recv.memory->data + recv.offset, send.memory->data + send.offset, send.bytes);
  send.memory->owner.Complete(send.memory->sent);
  recv.memory->owner.Complete(recv.memory->received);
}

void Wire::Send(const Posted& send) {
  absl::MutexLock lock(&mutex_);
  Posted recv;
  if (TakeMatch(recvs_, send.slot, recv)) {
    Deliver(send, recv);
  } else {
    sends_.push_back(send);
  }
}

void Wire::Recv(const Posted& recv) {
  absl::MutexLock lock(&mutex_);
  Posted send;
  if (TakeMatch(sends_, recv.slot, send)) {
    Deliver(send, recv);
  } else {
    recvs_.push_back(recv);
  }
}

void Wire::Forget(const LoopbackMemory* memory) {
  absl::MutexLock lock(&mutex_);
  for (std::deque<Posted>* waiting : {&sends_, &recvs_}) {
    waiting->erase(std::remove_if(waiting->begin(), waiting->end(),
                                  [memory](const Posted& posted) { return posted.memory == memory; }),
                   waiting->end());
  }
}

void Hub::Join(LoopbackTransport* member) {
  absl::MutexLock lock(&mutex_);
  members_[member->rank()] = member;
}

void Hub::Leave(const LoopbackTransport* member, const absl::Status& last_word) {
  absl::MutexLock lock(&mutex_);
  if (members_[member->rank()] == nullptr) return;
  members_[member->rank()] = nullptr;
  for (LoopbackTransport* other : members_) {
    if (other != nullptr) other->OnPeer(member->rank(), last_word);
  }
}

absl::Status LoopbackTransport::Send(Rank peer, uint64_t slot, Memory& memory, size_t offset, size_t bytes) {
  if (absl::Status status = ObstacleTo(peer); !status.ok()) return status;
  hub_->wire(rank(), peer).Send(Posted{slot, static_cast<LoopbackMemory*>(&memory), offset, bytes});
  return absl::OkStatus();
}

absl::Status LoopbackTransport::Recv(Rank peer, uint64_t slot, Memory& memory, size_t offset, size_t bytes) {
  if (absl::Status status = ObstacleTo(peer); !status.ok()) return status;
  hub_->wire(peer, rank()).Recv(Posted{slot, static_cast<LoopbackMemory*>(&memory), offset, bytes});
  return absl::OkStatus();
}

absl::Status LoopbackTransport::WaitFor(int& count, Rank peer) {
  absl::MutexLock lock(&mutex_);
  waiting_for_ = peer;
  absl::Status status;
  while (count == 0 && (status = Obstacle(peer)).ok()) changed_.Wait(&mutex_);
  waiting_for_ = -1;
  if (status.ok()) --count;
  return status;
}

void LoopbackTransport::Forget(const LoopbackMemory* memory) {
  for (Rank peer = 0; peer < world_size(); ++peer) {
    hub_->wire(rank(), peer).Forget(memory);
    hub_->wire(peer, rank()).Forget(memory);
  }
}

}  // namespace

std::vector<std::unique_ptr<Mesh>> LoopbackMeshes(int world_size, const MeshOptions& options) {
  auto hub = std::make_shared<Hub>(world_size);
  std::vector<std::unique_ptr<Mesh>> meshes;
  for (Rank rank = 0; rank < world_size; ++rank) {
    meshes.push_back(MakeMesh(std::make_unique<LoopbackTransport>(rank, world_size, hub), options));
  }
  return meshes;
}

}  // namespace sdp
