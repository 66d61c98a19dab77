// A connection of Gloo that outsiders cannot bring down.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>

#include "absl/status/status.h"
#include "common/base/ids.h"
#include "gloo/transport/tcp/context.h"
#include "gloo/transport/tcp/device.h"
#include "gloo/transport/tcp/pair.h"

namespace sdp {

// A pair of Gloo (May 2022), changed in three ways:
// - An exception on Gloo's loop thread would end the process. A peer, or a port scanner, that resets its
//   connection at the wrong moment is enough to cause one. Here it closes this pair only.
// - Gloo takes the first connection that comes to be its peer's. This one takes the first that begins with
//   the right greeting (see Connect) and drops others.
// - It tells when the connection has closed. Gloo itself wakes only those waiters whose message is not yet
//   partly transferred.
class GuardedPair : public gloo::transport::tcp::Pair {
 public:
  // Listens at once. `greeting` is the slot of the first message of whoever connects.
  GuardedPair(gloo::transport::tcp::Context* context, gloo::transport::tcp::Device* device, Rank peer,
              uint64_t greeting);
  ~GuardedPair() override;

  // One of the two, once: blocks until there is a connection, or throws. Close from another thread makes it
  // return. The connecting side must send its greeting next.
  void Connect(const sockaddr_storage& listener);
  void AwaitConnection();

  // `closed` is called once, when the connection breaks or the peer closes it: at once if that has happened,
  // else on Gloo's thread while it holds the pair. Null: no more calls; none is under way afterwards.
  void OnClosed(std::function<void()> closed);

  // Lets the peer see the end of the connection as soon as it has read what was sent.
  void FinishSending();

 protected:
  void handleEvents(int events) override;
  void changeState(state next) noexcept override;

 private:
  // A connection waits at the listening socket.
  void TakeConnection();
  static bool BeginsWithGreeting(int fd, uint64_t greeting);

  const uint64_t greeting_;
  std::function<void()> closed_;  // guarded by m_, as all of Pair is
};

}  // namespace sdp
