#include "worker/averaging/gloo_pair.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstring>
#include <exception>
#include <mutex>
#include <utility>

namespace sdp {
namespace {

// Connections that send nothing are not even accepted for as long as this.
constexpr int kGreetingSeconds = 60;
// Nor are they waited for longer than this once they are accepted: Gloo's thread has other connections to
// serve.
constexpr int kGreetingMilliseconds = 50;
// Gloo's own backlog of 1 would let one stranger keep the peer waiting.
constexpr int kBacklog = 64;

}  // namespace

GuardedPair::GuardedPair(gloo::transport::tcp::Context* context, gloo::transport::tcp::Device* device,
                         Rank peer, uint64_t greeting)
    // Deadlines are ours: Gloo's would close the pair.
    : Pair(context, device, peer, gloo::kNoTimeout), greeting_(greeting) {
  std::lock_guard<std::mutex> lock(m_);
  ::listen(fd_, kBacklog);
  setsockopt(fd_, IPPROTO_TCP, TCP_DEFER_ACCEPT, &kGreetingSeconds, sizeof(kGreetingSeconds));
  fcntl(fd_, F_SETFL, fcntl(fd_, F_GETFL) | O_NONBLOCK);
}

GuardedPair::~GuardedPair() {
  // Here and not in Pair's destructor: until this returns, Gloo's thread may call what is overridden.
  std::lock_guard<std::mutex> lock(m_);
  closed_ = nullptr;
  if (state_ != CLOSED) Pair::changeState(CLOSED);
}

void GuardedPair::Connect(const sockaddr_storage& listener) {
  {
    // Gloo gives the part of connecting to the side with the larger address, which is wrong for workers that
    // are reached at other addresses than their own. The connection will set the true address.
    std::lock_guard<std::mutex> lock(m_);
    sockaddr_storage largest = listener;
    if (listener.ss_family == AF_INET6) {
      std::memset(&reinterpret_cast<sockaddr_in6&>(largest).sin6_addr, 0xff, sizeof(in6_addr));
    } else {
      reinterpret_cast<sockaddr_in&>(largest).sin_addr.s_addr = INADDR_NONE;
    }
    self_ = gloo::transport::tcp::Address(largest);
  }
  Pair::connect(gloo::transport::tcp::Address(listener).bytes());
}

void GuardedPair::AwaitConnection() {
  std::unique_lock<std::mutex> lock(m_);
  waitUntilConnected(lock, /*useTimeout=*/false);
}

void GuardedPair::OnClosed(std::function<void()> closed) {
  std::lock_guard<std::mutex> lock(m_);
  closed_ = std::move(closed);
  if (state_ == CLOSED && closed_) std::exchange(closed_, nullptr)();
}

void GuardedPair::FinishSending() {
  std::lock_guard<std::mutex> lock(m_);
  if (state_ == CONNECTED) shutdown(fd_, SHUT_WR);
}

void GuardedPair::changeState(state next) noexcept {
  Pair::changeState(next);
  if (next == CLOSED && closed_) std::exchange(closed_, nullptr)();
}

void GuardedPair::handleEvents(int events) {
  // Gloo's thread must not block on a pair: whoever holds it may be waiting for the thread's next round.
  // Events come again.
  std::unique_lock<std::mutex> lock(m_, std::try_to_lock);
  if (!lock) return;
  try {
    if (state_ == LISTENING)
      TakeConnection();
    else if (state_ == CONNECTING)
      handleConnecting();
    else if (state_ == CONNECTED)
      handleReadWrite(events);
  } catch (const std::exception& error) {
    if (ex_ == nullptr) signalException(error.what());
  }
}

void GuardedPair::TakeConnection() {
  const int fd = accept(fd_, nullptr, nullptr);
  if (fd < 0) return;
  if (!BeginsWithGreeting(fd, greeting_)) {
    ::close(fd);
    return;
  }
  device_->unregisterDescriptor(fd_, this);
  ::close(fd_);
  fd_ = fd;
  // Before anything can throw: closing the pair takes its descriptor from the loop.
  device_->registerDescriptor(fd_, EPOLLIN, this);
  handleConnected();
}

bool GuardedPair::BeginsWithGreeting(int fd, uint64_t greeting) {
  // As a rule the kernel hands out connections once they have sent something; where it does not (SYN
  // cookies), a peer's greeting is on its way. It is sent in one piece.
  pollfd readable = {fd, POLLIN, 0};
  poll(&readable, 1, kGreetingMilliseconds);
  gloo::transport::tcp::Op op;
  const ssize_t size = ::recv(fd, &op.preamble, sizeof(op.preamble), MSG_PEEK | MSG_DONTWAIT);
  return size == sizeof(op.preamble) && op.preamble.nbytes == sizeof(op.preamble) &&
         op.preamble.opcode == gloo::transport::tcp::Op::NOTIFY_SEND_READY && op.preamble.slot == greeting;
}

}  // namespace sdp
