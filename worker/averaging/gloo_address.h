// Where the ranks of a Gloo mesh listen, and who connects to whom.
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
  uint64_t key = 0;        // drawn by the rank for this mesh: peers show it to prove that they mean this one
  std::string bound_host;  // numeric; where the rank listens
  std::string advertised_host;  // numeric; where peers reach it
  std::vector<uint16_t> ports;  // by peer; 0 for the rank itself
};

// One line of text: "sdp-gloo-1 rank=0 key=... bound=10.0.0.5 advertised=10.0.0.5 ports=0,4711,4712".
std::string FormatMeshAddress(const MeshAddress& address);

// INVALID_ARGUMENT: text that is not such a line, of another rank than `rank` or another world, with a
// wildcard host, with a port 0 or with hosts of two address families. Messages name the rank.
absl::StatusOr<MeshAddress> ParseMeshAddress(absl::string_view text, Rank rank, int world_size);

// "10.0.0.5:4711" or "[fe80::1]:4711": where `address` lets `peer` connect.
std::string Endpoint(const MeshAddress& address, Rank peer);

// The socket address of a numeric host. INVALID_ARGUMENT when `host` is none.
absl::StatusOr<sockaddr_storage> NumericSockaddr(const std::string& host, uint16_t port);
// The numeric host of a socket address, and its port.
std::string HostOf(const sockaddr_storage& address);
uint16_t PortOf(const sockaddr_storage& address);

// Whether the address stands for all interfaces. `host` is numeric.
bool IsWildcard(const std::string& host);

// The numeric host that is larger than all others of its family, AF_INET or AF_INET6.
std::string LargestHost(int family);

// Resolves a host name or address to a numeric host. `family` is AF_UNSPEC, AF_INET or AF_INET6.
// INVALID_ARGUMENT names `field` and the host.
absl::StatusOr<std::string> ResolveHost(const std::string& host, int family, absl::string_view field);

// A pair of Gloo connects itself if the address on which it listens is larger than the one it is to connect
// to, byte by byte, and waits to be connected to otherwise.
bool ConnectsItself(const sockaddr_storage& listening, const sockaddr_storage& peer);

enum class ConnectRole { kListens, kConnects };

// The role of `self` towards `peer`; the peer comes to the opposite one. FAILED_PRECONDITION, naming both
// hosts: the peers are reached at other addresses than they listen on in such a way that Gloo would let both
// wait.
absl::StatusOr<ConnectRole> RoleTowards(const MeshAddress& self, const MeshAddress& peer);

}  // namespace sdp
