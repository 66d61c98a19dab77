#include "worker/averaging/gloo_address.h"

#include <string>

#include "absl/strings/str_replace.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "worker/averaging/gloo_error.h"

namespace sdp {
namespace {

using ::testing::HasSubstr;

MeshAddress Example() {
  MeshAddress address;
  address.rank = 1;
  address.key = 123456789;
  address.host = "10.0.0.5";
  address.ports = {4711, 0, 65535};
  return address;
}

TEST(GlooAddressTest, TextRoundTrip) {
  for (const char* host : {"10.0.0.5", "fd00::5"}) {
    MeshAddress address = Example();
    address.host = host;
    const auto parsed = ParseMeshAddress(FormatMeshAddress(address), 1, 3);
    ASSERT_TRUE(parsed.ok()) << parsed.status();
    EXPECT_EQ(parsed->rank, 1);
    EXPECT_EQ(parsed->key, address.key);
    EXPECT_EQ(parsed->host, host);
    EXPECT_EQ(parsed->ports, address.ports);
  }
  EXPECT_EQ(FormatMeshAddress(Example()),
            "sdp-gloo-1 rank=1 key=00000000075bcd15 host=10.0.0.5 ports=4711,0,65535");
}

TEST(GlooAddressTest, RefusesWhatIsNoAddressOfTheRank) {
  const std::string good = FormatMeshAddress(Example());
  ASSERT_TRUE(ParseMeshAddress(good, 1, 3).ok());
  const auto message = [&](const std::string& from, const std::string& to) {
    const absl::Status status = ParseMeshAddress(absl::StrReplaceAll(good, {{from, to}}), 1, 3).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr("rank 1"));
    return std::string(status.message());
  };
  EXPECT_THAT(message("sdp-gloo-1", "sdp-gloo-2"), HasSubstr("format sdp-gloo-1"));
  EXPECT_THAT(message("rank=1", "rank=2"), HasSubstr("that of rank 2"));
  EXPECT_THAT(message("rank=1", "rank=x"), HasSubstr("rank x"));
  EXPECT_THAT(message("key=", "lock="), HasSubstr("key= is missing"));
  EXPECT_THAT(message("key=0", "key=z"), HasSubstr("hexadecimal"));
  EXPECT_THAT(message("10.0.0.5", "worker-5"), HasSubstr("not a numeric address"));
  EXPECT_THAT(message("10.0.0.5", "0.0.0.0"), HasSubstr("all interfaces"));
  EXPECT_THAT(message("10.0.0.5", "::"), HasSubstr("all interfaces"));
  EXPECT_THAT(message("4711", "0"), HasSubstr("port \"0\" for rank 0"));
  EXPECT_THAT(message("4711", "65536"), HasSubstr("must be 1 to 65535"));
  EXPECT_THAT(message("4711", "-1"), HasSubstr("must be 1 to 65535"));
  EXPECT_THAT(message("4711,0,", "4711,5,"), HasSubstr("port \"5\" for rank 1 must be 0"));
  EXPECT_THAT(message(",65535", ""), HasSubstr("ports for 2 ranks; the world has 3"));
  EXPECT_THAT(message(" ports=4711,0,65535", ""), HasSubstr("ports= is missing"));
  EXPECT_FALSE(ParseMeshAddress("", 1, 3).ok());
  EXPECT_FALSE(ParseMeshAddress("sdp-gloo-1 = == =x", 1, 3).ok());
}

TEST(GlooAddressTest, SockaddrsOfNumericHosts) {
  for (const char* host : {"127.0.0.1", "::1"}) {
    const auto address = NumericSockaddr(host, 4711);
    ASSERT_TRUE(address.ok()) << address.status();
    EXPECT_EQ(HostOf(*address), host);
    EXPECT_EQ(PortOf(*address), 4711);
  }
  EXPECT_FALSE(NumericSockaddr("localhost", 1).ok());
  EXPECT_TRUE(IsWildcard("0.0.0.0"));
  EXPECT_TRUE(IsWildcard("::"));
  EXPECT_FALSE(IsWildcard("127.0.0.1"));
  EXPECT_FALSE(IsWildcard("::1"));
}

TEST(GlooAddressTest, ResolvesNamesToIpv4First) {
  const auto host = ResolveHost("localhost", AF_UNSPEC, "bind_address");
  ASSERT_TRUE(host.ok()) << host.status();
  EXPECT_EQ(*host, "127.0.0.1");
  EXPECT_EQ(*ResolveHost("::1", AF_UNSPEC, "bind_address"), "::1");
  EXPECT_THAT(ResolveHost("::1", AF_INET, "advertised_address").status().ToString(),
              HasSubstr("advertised_address \"::1\" is not an IPv4 address"));
}

TEST(GlooAddressTest, EndpointsForPeople) {
  MeshAddress address = Example();
  EXPECT_EQ(Endpoint(address, 0), "10.0.0.5:4711");
  address.host = "fd00::5";
  EXPECT_EQ(Endpoint(address, 2), "[fd00::5]:65535");
}

TEST(GlooErrorTest, KeepsTheReasonOnly) {
  EXPECT_EQ(ReasonOf("[./gloo/pair.cc:799] connect [127.0.0.1]:20515: Connection refused"),
            "Connection refused");
  EXPECT_EQ(ReasonOf("[./gloo/pair.cc:598] Connection closed by peer [127.0.0.1]:20515"),
            "Connection closed by peer");
  EXPECT_EQ(
      ReasonOf("[enforce fail at ./gloo/loop.cc:83] rv != -1. -1 vs -1. epoll_ctl: Bad file descriptor"),
      "Bad file descriptor");
  EXPECT_EQ(ReasonOf("interrupted"), "interrupted");
  EXPECT_EQ(ReasonOf(""), "");
}

}  // namespace
}  // namespace sdp
