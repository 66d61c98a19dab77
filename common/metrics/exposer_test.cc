#include "common/metrics/exposer.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace sdp {
namespace {

// The whole answer to GET /metrics on a port of the loopback interface.
std::string Scrape(int port) {
  const int socket_fd = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  EXPECT_EQ(connect(socket_fd, reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
  const std::string request = "GET /metrics HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
  EXPECT_EQ(send(socket_fd, request.data(), request.size(), MSG_NOSIGNAL),
            static_cast<ssize_t>(request.size()));
  std::string answer;
  char buffer[4096];
  for (ssize_t n; (n = recv(socket_fd, buffer, sizeof(buffer), 0)) > 0;) answer.append(buffer, n);
  close(socket_fd);
  return answer;
}

TEST(ExposerTest, ServesTheRegistryOnAFreePort) {
  Registry registry;
  Series series(registry);
  const auto server = StartExposer("127.0.0.1:0", registry);
  ASSERT_TRUE(server.ok()) << server.status();
  EXPECT_GT((*server)->port(), 0);
  series.Get(metrics::kJobs, {"running"}).Set(3);
  const std::string answer = Scrape((*server)->port());
  EXPECT_TRUE(absl::StartsWith(answer, "HTTP/1.1 200")) << answer;
  EXPECT_TRUE(absl::StrContains(answer, "sdp_jobs{state=\"running\"} 3")) << answer;
  series.Get(metrics::kJobs, {"running"}).Set(4);
  EXPECT_TRUE(absl::StrContains(Scrape((*server)->port()), "sdp_jobs{state=\"running\"} 4"));
}

TEST(ExposerTest, APortInUseIsAnError) {
  const Registry registry;
  const auto first = StartExposer("127.0.0.1:0", registry);
  ASSERT_TRUE(first.ok()) << first.status();
  const std::string address = absl::StrCat("127.0.0.1:", (*first)->port());
  const auto second = StartExposer(address, registry);
  EXPECT_EQ(second.status().code(), absl::StatusCode::kUnavailable);
  EXPECT_TRUE(absl::StrContains(second.status().message(), address)) << second.status();
}

TEST(ExposerTest, ThePortIsFreeAgainAfterwards) {
  const Registry registry;
  auto server = StartExposer("127.0.0.1:0", registry);
  ASSERT_TRUE(server.ok()) << server.status();
  const std::string address = absl::StrCat("127.0.0.1:", (*server)->port());
  server->reset();
  EXPECT_TRUE(StartExposer(address, registry).ok());
}

TEST(ExposerTest, AddressesOfAnotherFormAreRefused) {
  const Registry registry;
  for (const std::string address : {"", "9400", ":9400", "localhost", "127.0.0.1:", "127.0.0.1:http",
                                    "127.0.0.1:65536", "127.0.0.1:-1", "127.0.0.1:9400r"}) {
    const absl::Status status = StartExposer(address, registry).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << address;
    EXPECT_TRUE(absl::StrContains(status.message(), absl::StrCat("\"", address, "\""))) << status;
  }
  EXPECT_EQ(StartExposer("192.0.2.1:0", registry).status().code(), absl::StatusCode::kUnavailable);
}

}  // namespace
}  // namespace sdp
