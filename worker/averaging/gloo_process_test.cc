// What becomes of a rank when a peer's process dies or stops: another process is needed for that.
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "worker/averaging/gloo_mesh.h"

namespace sdp {
namespace {

using ::testing::HasSubstr;

constexpr int64_t kElements = 4'000'000;

// Of two ranks, at the two ends of a socket.
class SocketRendezvous : public Rendezvous {
 public:
  explicit SocketRendezvous(int fd) : fd_(fd) {}

  absl::Status Publish(std::string address) override {
    address += '\n';
    const ssize_t written = write(fd_, address.data(), address.size());
    return written == static_cast<ssize_t>(address.size()) ? absl::OkStatus() : absl::InternalError("write");
  }
  absl::StatusOr<std::string> AddressOf(Rank, absl::Time) override {
    char c = 0;
    while (peer_.empty() || peer_.back() != '\n') {
      if (read(fd_, &c, 1) != 1) return absl::UnavailableError("the other process is gone");
      peer_ += c;
    }
    return peer_.substr(0, peer_.size() - 1);
  }

 private:
  const int fd_;
  std::string peer_;
};

MeshOptions Options(Rank rank, absl::Duration timeout) {
  MeshOptions options;
  options.rank = rank;
  options.world_size = 2;
  options.collective_timeout = timeout;
  return options;
}

// Rank 1, in a process of its own that does one all-reduce after the other.
class Child {
 public:
  Child() {
    int ends[2];
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    pid_ = fork();
    if (pid_ == 0) {
      close(ends[0]);
      Run(ends[1]);
      _exit(1);
    }
    close(ends[1]);
    fd_ = ends[0];
  }
  ~Child() {
    Signal(SIGKILL);
    int status = 0;
    waitpid(pid_, &status, 0);
    close(fd_);
  }

  void Signal(int signal) { kill(pid_, signal); }
  int fd() const { return fd_; }

 private:
  static void Run(int fd) {
    SocketRendezvous rendezvous(fd);
    auto mesh = ConnectGlooMesh(Options(1, absl::Minutes(1)), rendezvous);
    if (!mesh.ok()) return;
    auto all = (*mesh)->Group({0, 1}, 0);
    std::vector<float> data(kElements, 1.0f);
    while ((*all)->AllReduce(absl::MakeSpan(data))->Wait().ok()) {
    }
  }

  pid_t pid_ = -1;
  int fd_ = -1;
};

// All-reduces until one fails; the child gets `signal` during the third.
absl::Status FirstFailure(Child& child, absl::Duration timeout, int signal) {
  SocketRendezvous rendezvous(child.fd());
  auto mesh = ConnectGlooMesh(Options(0, timeout), rendezvous);
  if (!mesh.ok()) return mesh.status();
  auto all = (*mesh)->Group({0, 1}, 0);
  if (!all.ok()) return all.status();
  std::vector<float> data(kElements, 1.0f);
  absl::Status status;
  for (int i = 0; status.ok(); ++i) {
    auto work = (*all)->AllReduce(absl::MakeSpan(data));
    if (i == 2) child.Signal(signal);
    status = work->Wait();
  }
  return status;
}

TEST(GlooProcessTest, AKilledPeerIsNamedAtOnce) {
  for (int round = 0; round < 5; ++round) {
    Child child;
    const absl::Status status = FirstFailure(child, absl::Hours(1), SIGKILL);
    EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr("rank 1 is gone"));
  }
}

TEST(GlooProcessTest, AStoppedPeerIsNamedAtTheDeadline) {
  Child child;
  const absl::Status status = FirstFailure(child, absl::Milliseconds(500), SIGSTOP);
  EXPECT_EQ(status.code(), absl::StatusCode::kDeadlineExceeded) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("rank 1"));
}

}  // namespace
}  // namespace sdp
