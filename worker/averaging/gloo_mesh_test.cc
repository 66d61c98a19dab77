#include "worker/averaging/gloo_mesh.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "common/base/process_stats.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "worker/averaging/conformance.h"
#include "worker/averaging/gloo_address.h"
#include "worker/averaging/local_rendezvous.h"

namespace sdp {
namespace {

using ::testing::AnyOf;
using ::testing::HasSubstr;

using MeshOrError = absl::StatusOr<std::unique_ptr<Mesh>>;

MeshOptions Options(Rank rank, int world_size, absl::Duration timeout = absl::Minutes(1)) {
  MeshOptions options;
  options.rank = rank;
  options.world_size = world_size;
  options.connect_timeout = timeout;
  return options;
}

// Hands out other addresses than were published.
class ForgingRendezvous : public LocalRendezvous {
 public:
  using Forge = std::function<std::string(Rank, std::string)>;
  ForgingRendezvous(AddressBook& book, Rank rank, Forge forge)
      : LocalRendezvous(book, rank), forge_(std::move(forge)) {}

  absl::StatusOr<std::string> AddressOf(Rank rank, absl::Time deadline) override {
    absl::StatusOr<std::string> address = LocalRendezvous::AddressOf(rank, deadline);
    if (!address.ok()) return address;
    return forge_(rank, *address);
  }

 private:
  const Forge forge_;
};

// A TCP socket on 127.0.0.1, which only listens or connects.
class Socket {
 public:
  Socket() : fd_(socket(AF_INET, SOCK_STREAM, 0)) {}
  ~Socket() { Close(); }
  Socket(const Socket&) = delete;

  uint16_t Bind() {
    sockaddr_in address = Loopback(0);
    EXPECT_EQ(bind(fd_, reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
    socklen_t length = sizeof(address);
    EXPECT_EQ(getsockname(fd_, reinterpret_cast<sockaddr*>(&address), &length), 0);
    return ntohs(address.sin_port);
  }
  uint16_t Listen() {
    const uint16_t port = Bind();
    EXPECT_EQ(listen(fd_, 8), 0);
    return port;
  }
  bool Connect(uint16_t port) {
    sockaddr_in address = Loopback(port);
    return connect(fd_, reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0;
  }
  void Write(const std::string& text) {
    EXPECT_EQ(send(fd_, text.data(), text.size(), MSG_NOSIGNAL), ssize_t(text.size()));
  }
  void Reset() {
    linger now = {1, 0};
    EXPECT_EQ(setsockopt(fd_, SOL_SOCKET, SO_LINGER, &now, sizeof(now)), 0);
    Close();
  }
  void Close() {
    if (fd_ >= 0) close(fd_);
    fd_ = -1;
  }

 private:
  static sockaddr_in Loopback(uint16_t port) {
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return address;
  }
  int fd_;
};

TEST(GlooMeshTest, StrangerResets) {
  for (int round = 0; round < 300; ++round) {
    AddressBook book;
    MeshOrError mesh(absl::UnknownError(""));
    std::thread rank0([&] {
      LocalRendezvous rendezvous(book, 0);
      mesh = ConnectGlooMesh(Options(0, 2, absl::Milliseconds(100)), rendezvous);
    });
    auto text = book.Get(0, absl::InfiniteFuture());
    auto address = ParseMeshAddress(*text, 0, 2);
    ASSERT_TRUE(address.ok()) << address.status();
    Socket stranger;
    EXPECT_TRUE(stranger.Connect(address->ports[1]));
    stranger.Reset();
    rank0.join();
    EXPECT_FALSE(mesh.ok());
  }
}

}  // namespace
}  // namespace sdp
