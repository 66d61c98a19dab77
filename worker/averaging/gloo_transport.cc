#include "worker/averaging/gloo_transport.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <exception>
#include <string>
#include <utility>

#include "common/base/status_macros.h"
#include "gloo/transport/unbound_buffer.h"
#include "worker/averaging/gloo_error.h"
#include "worker/averaging/gloo_pair.h"
#include "worker/averaging/scoped_sigpipe_block.h"
#include "worker/averaging/slot.h"
#include "worker/averaging/suspect.h"

namespace sdp {
namespace {

// For waits that something else ends; far from overflowing Gloo's clock.
constexpr std::chrono::milliseconds kForever = std::chrono::hours(24 * 365);
// The farewell is a courtesy to peers that still read.
constexpr std::chrono::milliseconds kFarewellTime(100);
// How long the cause of a woken waiter may be under way.
constexpr absl::Duration kCauseTime = absl::Seconds(1);

}  // namespace

// Sends and receives that are under way at a time have one peer each; see Transport.
class GlooMemory : public Memory {
 public:
  explicit GlooMemory(std::unique_ptr<gloo::transport::UnboundBuffer> buffer) : buffer(std::move(buffer)) {}

  struct UnderWay {
    Rank peer = -1;
    int count = 0;
  };
  const std::unique_ptr<gloo::transport::UnboundBuffer> buffer;
  UnderWay sends;
  UnderWay recvs;
};

// A rank's last message on each connection.
struct GlooTransport::Farewell {
  static constexpr int32_t kNone = -1;

  int32_t code = kNone;  // of Transport::LastWord
  int32_t suspect = -1;  // its SuspectedRank; -1: none
  char reason[248] = {};

  static Farewell From(const absl::Status& status) {
    Farewell farewell;
    farewell.code = static_cast<int32_t>(status.code());
    farewell.suspect = SuspectedRank(status).value_or(-1);
    status.message().copy(farewell.reason, sizeof(farewell.reason) - 1);
    return farewell;
  }
  absl::Status ToStatus() const {
    const size_t length = std::find(reason, reason + sizeof(reason), '\0') - reason;
    absl::Status status(static_cast<absl::StatusCode>(code), absl::string_view(reason, length));
    return suspect < 0 ? status : WithSuspect(std::move(status), suspect);
  }
};

struct GlooTransport::Peer {
  Rank rank = 0;
  GuardedPair* pair = nullptr;
  Farewell farewell;  // written by Gloo's thread
  std::unique_ptr<gloo::transport::UnboundBuffer> farewell_buffer;
};

GlooTransport::GlooTransport(std::shared_ptr<gloo::transport::Context> context)
    : Transport(context->rank, context->size), context_(std::move(context)) {
  ScopedSigpipeBlock block;
  for (Rank rank = 0; rank < world_size(); ++rank) {
    if (rank == this->rank()) continue;
    auto peer = std::make_unique<Peer>();
    peer->rank = rank;
    peer->pair = static_cast<GuardedPair*>(context_->getPair(rank).get());
    peer->farewell_buffer = context_->createUnboundBuffer(&peer->farewell, sizeof(Farewell));
    try {
      peer->farewell_buffer->recv(rank, kFarewellSlot);
    } catch (const std::exception&) {
      // The connection is broken already, which OnClosed says at once.
    }
    peer->pair->OnClosed([this, &peer = *peer] { OnClosed(peer); });
    peers_.push_back(std::move(peer));
  }
}

GlooTransport::~GlooTransport() { Close(); }

void GlooTransport::OnClosed(const Peer& peer) {
  if (peer.farewell.code == Farewell::kNone) {
    OnParting(peer.rank, Parting::kLost, absl::UnavailableError("its connection broke"));
    return;
  }
  const absl::Status last_word = peer.farewell.ToStatus();
  OnParting(peer.rank, last_word.ok() ? Parting::kLeft : Parting::kFailed, last_word);
}

std::unique_ptr<Memory> GlooTransport::CreateMemory(void* data, size_t bytes) {
  return std::make_unique<GlooMemory>(context_->createUnboundBuffer(data, bytes));
}

absl::Status GlooTransport::Send(Rank peer, uint64_t slot, Memory& memory, size_t offset, size_t bytes) {
  SDP_RETURN_IF_ERROR(failure());
  auto& gloo_memory = static_cast<GlooMemory&>(memory);
  try {
    gloo_memory.buffer->send(peer, slot, offset, bytes);
  } catch (const std::exception& error) {
    return Cause(gloo_memory, peer, error.what());
  }
  gloo_memory.sends = {peer, gloo_memory.sends.count + 1};
  return absl::OkStatus();
}

absl::Status GlooTransport::Recv(Rank peer, uint64_t slot, Memory& memory, size_t offset, size_t bytes) {
  SDP_RETURN_IF_ERROR(failure());
  auto& gloo_memory = static_cast<GlooMemory&>(memory);
  try {
    gloo_memory.buffer->recv(peer, slot, offset, bytes);
  } catch (const std::exception& error) {
    return Cause(gloo_memory, peer, error.what());
  }
  gloo_memory.recvs = {peer, gloo_memory.recvs.count + 1};
  return absl::OkStatus();
}

absl::Status GlooTransport::WaitSend(Memory& memory, Rank peer) {
  auto& gloo_memory = static_cast<GlooMemory&>(memory);
  SDP_RETURN_IF_ERROR(Await(gloo_memory, peer, [&] { return gloo_memory.buffer->waitSend(kForever); }));
  --gloo_memory.sends.count;
  return absl::OkStatus();
}

absl::Status GlooTransport::WaitRecv(Memory& memory, Rank peer) {
  auto& gloo_memory = static_cast<GlooMemory&>(memory);
  SDP_RETURN_IF_ERROR(Await(gloo_memory, peer, [&] { return gloo_memory.buffer->waitRecv(kForever); }));
  --gloo_memory.recvs.count;
  return absl::OkStatus();
}

template <typename Wait>
absl::Status GlooTransport::Await(GlooMemory& memory, Rank peer, Wait wait) {
  {
    absl::MutexLock lock(&mutex_);
    SDP_RETURN_IF_ERROR(FailureLocked());
    blocked_on_ = memory.buffer.get();
    waiting_for_ = peer;
  }
  bool complete = false;
  std::string error = "interrupted";
  try {
    complete = wait();
  } catch (const std::exception& exception) {
    error = exception.what();
  }
  {
    absl::MutexLock lock(&mutex_);
    blocked_on_ = nullptr;
    waiting_for_ = -1;
  }
  return complete ? absl::OkStatus() : Cause(memory, peer, error.c_str());
}

absl::Status GlooTransport::Cause(const GlooMemory& memory, Rank peer, const char* what) {
  // Gloo wakes a waiter for any broken connection on which its buffer has something pending and does not say
  // for which; OnClosed comes right after.
  absl::MutexLock lock(&mutex_);
  const absl::Time deadline = absl::Now() + kCauseTime;
  do {
    SDP_RETURN_IF_ERROR(Obstacle(peer));
    if (memory.sends.count > 0) SDP_RETURN_IF_ERROR(Obstacle(memory.sends.peer));
    if (memory.recvs.count > 0) SDP_RETURN_IF_ERROR(Obstacle(memory.recvs.peer));
  } while (!changed_.WaitWithDeadline(&mutex_, deadline));
  return PeerGone(peer, ReasonOf(what));
}

void GlooTransport::Wake() {
  if (blocked_on_ == nullptr) return;
  blocked_on_->abortWaitRecv();
  blocked_on_->abortWaitSend();
}

void GlooTransport::SendFarewells() {
  Farewell farewell = Farewell::From(LastWord());
  const auto buffer = context_->createUnboundBuffer(&farewell, sizeof(farewell));
  int sent = 0;
  for (const auto& peer : peers_) {
    try {
      buffer->send(peer->rank, kFarewellSlot);
      ++sent;
    } catch (const std::exception&) {
      // The peer is gone: it needs no farewell.
    }
  }
  const auto deadline = std::chrono::steady_clock::now() + kFarewellTime;
  try {
    for (; sent > 0; --sent) {
      const auto left =
          std::chrono::duration_cast<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
      if (left.count() <= 0) return;
      buffer->waitSend(left);
    }
  } catch (const std::exception&) {
    // A peer went meanwhile or does not read any more.
  }
}

void GlooTransport::Close() {
  if (context_ == nullptr) return;
  ScopedSigpipeBlock block;
  for (const auto& peer : peers_) peer->pair->OnClosed(nullptr);
  SendFarewells();
  for (const auto& peer : peers_) peer->pair->FinishSending();
  // Takes up to one round of Gloo's loop for each: the peers already know.
  for (const auto& peer : peers_) context_->getPair(peer->rank).reset();
  peers_.clear();
  context_.reset();
}

}  // namespace sdp
