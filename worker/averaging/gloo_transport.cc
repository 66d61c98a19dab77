#include "worker/averaging/gloo_transport.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <exception>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "gloo/transport/pair.h"
#include "gloo/transport/unbound_buffer.h"
#include "worker/averaging/gloo_error.h"
#include "worker/averaging/scoped_sigpipe_block.h"
#include "worker/averaging/slot.h"

namespace sdp {
namespace {

// For waits that something else ends; far from overflowing Gloo's clock.
constexpr std::chrono::milliseconds kForever = std::chrono::hours(24 * 365);
// The farewell is a courtesy to peers that still listen.
constexpr std::chrono::milliseconds kFarewellTime(200);
// A broken connection is noticed by the waiter and by the peer's listener at about the same time.
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
  int32_t code = 0;  // absl::StatusCode; 0: it leaves
  char reason[252] = {};

  static Farewell From(const absl::Status& status) {
    Farewell farewell;
    farewell.code = static_cast<int32_t>(status.code());
    status.message().copy(farewell.reason, sizeof(farewell.reason) - 1);
    return farewell;
  }
  absl::Status ToStatus() const {
    const size_t length = std::find(reason, reason + sizeof(reason), '\0') - reason;
    return absl::Status(static_cast<absl::StatusCode>(code), absl::string_view(reason, length));
  }
};

struct GlooTransport::Listener {
  Rank peer = 0;
  Farewell farewell;
  std::unique_ptr<gloo::transport::UnboundBuffer> buffer;
  std::thread thread;
};

GlooTransport::GlooTransport(std::shared_ptr<gloo::transport::Context> context)
    : Transport(context->rank, context->size), context_(std::move(context)) {
  ScopedSigpipeBlock block;
  for (Rank peer = 0; peer < world_size(); ++peer) {
    if (peer == rank()) continue;
    auto listener = std::make_unique<Listener>();
    listener->peer = peer;
    listener->buffer = context_->createUnboundBuffer(&listener->farewell, sizeof(Farewell));
    listener->thread = std::thread([this, &listener = *listener] { Listen(listener); });
    listeners_.push_back(std::move(listener));
  }
}

GlooTransport::~GlooTransport() { Close(); }

void GlooTransport::Listen(Listener& listener) {
  try {
    listener.buffer->recv(listener.peer, kFarewellSlot);
    if (!listener.buffer->waitRecv(kForever)) return;  // this rank closes
  } catch (const std::exception& lost) {
    OnParting(listener.peer, Parting::kLost, absl::UnavailableError(ReasonOf(lost.what())));
    return;
  }
  const absl::Status last_word = listener.farewell.ToStatus();
  OnParting(listener.peer, last_word.ok() ? Parting::kLeft : Parting::kFailed, last_word);
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
  // for which: the listeners know, at about the same time.
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
  for (const auto& listener : listeners_) {
    try {
      buffer->send(listener->peer, kFarewellSlot);
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
  SendFarewells();
  for (const auto& listener : listeners_) listener->buffer->abortWaitRecv();
  for (const auto& listener : listeners_) listener->thread.join();
  // Orderly, so that peers still read what was sent.
  for (const auto& listener : listeners_) context_->getPair(listener->peer).reset();
  listeners_.clear();
  context_.reset();
}

}  // namespace sdp
