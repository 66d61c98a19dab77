// Where the ranks of a Gloo mesh listen, as they tell each other.
#pragma once

#include <sys/socket.h>

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/base/ids.h"

namespace sdp {

// What a rank publishes. Gloo listens on a port of its own for every peer.
struct MeshAddress {
  Rank rank = 0;
  uint64_t key = 0;  // drawn by the rank for this mesh: peers show it to prove that they mean this one
  std::string host;  // numeric; where peers reach the rank
  std::vector<uint16_t> ports;  // by peer; 0 for the rank itself
};

// One line of text: "sdp-gloo-1 rank=0 key=00000000075bcd15 host=10.0.0.5 ports=0,4711,4712".
std::string FormatMeshAddress(const MeshAddress& address);

// INVALID_ARGUMENT: text that is not such a line, of another rank than `rank` or another world, with a
// wildcard host or with a port 0. Messages name the rank and show the text.
absl::StatusOr<MeshAddress> ParseMeshAddress(absl::string_view text, Rank rank, int world_size);

// "10.0.0.5:4711" or "[fe80::1]:4711": where `address` lets `peer` connect.
std::string Endpoint(const MeshAddress& address, Rank peer);

// The socket address of a numeric host. INVALID_ARGUMENT when `host` is none.
absl::StatusOr<sockaddr_storage> NumericSockaddr(const std::string& host, uint16_t port);
// The numeric host of a socket address, and its port.
std::string HostOf(const sockaddr_storage& address);
uint16_t PortOf(const sockaddr_storage& address);

// Whether the numeric host stands for all interfaces.
bool IsWildcard(const std::string& host);

// Resolves a host name or address to a numeric host. `family` is AF_INET, AF_INET6 or AF_UNSPEC: IPv4 if
// there is such an address. INVALID_ARGUMENT names `field` and the host.
absl::StatusOr<std::string> ResolveHost(const std::string& host, int family, absl::string_view field);

}  // namespace sdp
