#include "worker/averaging/gloo_address.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>

#include <cstring>
#include <map>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "common/base/status_macros.h"

namespace sdp {
namespace {

constexpr absl::string_view kFormat = "sdp-gloo-1";

// First address that getaddrinfo gives; its message when there is none.
absl::StatusOr<sockaddr_storage> Lookup(const std::string& host, int family, int flags) {
  addrinfo hints = {};
  hints.ai_family = family;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = flags;
  addrinfo* found = nullptr;
  if (const int error = getaddrinfo(host.c_str(), nullptr, &hints, &found); error != 0) {
    return absl::InvalidArgumentError(gai_strerror(error));
  }
  sockaddr_storage address = {};
  std::memcpy(&address, found->ai_addr, found->ai_addrlen);
  freeaddrinfo(found);
  return address;
}

// The value of each "name=value" word after the first word.
absl::StatusOr<std::map<std::string, std::string>> Words(absl::string_view text) {
  std::map<std::string, std::string> words;
  const std::vector<std::string> parts = absl::StrSplit(text, ' ');
  if (parts[0] != kFormat) {
    return absl::InvalidArgumentError(absl::StrCat("it is not of the format ", kFormat));
  }
  for (size_t i = 1; i < parts.size(); ++i) {
    words.insert(std::pair<std::string, std::string>(absl::StrSplit(parts[i], absl::MaxSplits('=', 1))));
  }
  for (const char* name : {"rank", "key", "bound", "advertised", "ports"}) {
    if (words.count(name) == 0) return absl::InvalidArgumentError(absl::StrCat(name, "= is missing"));
  }
  return words;
}

absl::Status CheckHosts(const MeshAddress& address) {
  SDP_ASSIGN_OR_RETURN(const sockaddr_storage bound, NumericSockaddr(address.bound_host, 0));
  SDP_ASSIGN_OR_RETURN(const sockaddr_storage advertised, NumericSockaddr(address.advertised_host, 0));
  if (bound.ss_family != advertised.ss_family) {
    return absl::InvalidArgumentError("one host is an IPv4 and the other an IPv6 address");
  }
  if (IsWildcard(address.bound_host) || IsWildcard(address.advertised_host)) {
    return absl::InvalidArgumentError("a host is a wildcard address");
  }
  return absl::OkStatus();
}

absl::StatusOr<MeshAddress> Parse(absl::string_view text, Rank rank, int world_size) {
  SDP_ASSIGN_OR_RETURN(auto words, Words(text));
  MeshAddress address;
  if (!absl::SimpleAtoi(words["rank"], &address.rank) || address.rank != rank) {
    return absl::InvalidArgumentError(absl::StrCat("it is that of rank ", words["rank"]));
  }
  if (!absl::SimpleHexAtoi(words["key"], &address.key)) {
    return absl::InvalidArgumentError("its key is not a hexadecimal number");
  }
  address.bound_host = words["bound"];
  address.advertised_host = words["advertised"];
  SDP_RETURN_IF_ERROR(CheckHosts(address));
  for (absl::string_view port : absl::StrSplit(words["ports"], ',')) {
    uint32_t number = 0;
    const bool own = address.ports.size() == static_cast<size_t>(rank);
    if (!absl::SimpleAtoi(port, &number) || number > 65535 || (number == 0) != own) {
      return absl::InvalidArgumentError(absl::StrCat("port \"", port, "\" for rank ", address.ports.size(),
                                                     " must be ", own ? "0" : "1 to 65535"));
    }
    address.ports.push_back(static_cast<uint16_t>(number));
  }
  if (address.ports.size() != static_cast<size_t>(world_size)) {
    return absl::InvalidArgumentError(
        absl::StrCat("it has ports for ", address.ports.size(), " ranks; the world has ", world_size));
  }
  return address;
}

// The raw bytes of an address and the raw port, as Gloo compares them.
std::pair<std::string, int> Raw(const sockaddr_storage& address) {
  if (address.ss_family == AF_INET6) {
    const auto& in = reinterpret_cast<const sockaddr_in6&>(address);
    return {std::string(reinterpret_cast<const char*>(&in.sin6_addr), sizeof(in.sin6_addr)), in.sin6_port};
  }
  const auto& in = reinterpret_cast<const sockaddr_in&>(address);
  return {std::string(reinterpret_cast<const char*>(&in.sin_addr), sizeof(in.sin_addr)), in.sin_port};
}

}  // namespace

std::string FormatMeshAddress(const MeshAddress& address) {
  return absl::StrFormat("%s rank=%d key=%016x bound=%s advertised=%s ports=%s", kFormat, address.rank,
                         address.key, address.bound_host, address.advertised_host,
                         absl::StrJoin(address.ports, ","));
}

absl::StatusOr<MeshAddress> ParseMeshAddress(absl::string_view text, Rank rank, int world_size) {
  absl::StatusOr<MeshAddress> address = Parse(text, rank, world_size);
  if (!address.ok()) {
    return absl::InvalidArgumentError(absl::StrCat("data-plane address of rank ", rank, ": ",
                                                   address.status().message(), ": \"", text.substr(0, 200),
                                                   "\""));
  }
  return address;
}

std::string Endpoint(const MeshAddress& address, Rank peer) {
  const bool v6 = absl::StrContains(address.advertised_host, ':');
  return absl::StrCat(v6 ? "[" : "", address.advertised_host, v6 ? "]:" : ":", address.ports[peer]);
}

absl::StatusOr<sockaddr_storage> NumericSockaddr(const std::string& host, uint16_t port) {
  absl::StatusOr<sockaddr_storage> address = Lookup(host, AF_UNSPEC, AI_NUMERICHOST);
  if (!address.ok()) {
    return absl::InvalidArgumentError(absl::StrCat("\"", host, "\" is not a numeric address"));
  }
  if (address->ss_family == AF_INET6) {
    reinterpret_cast<sockaddr_in6&>(*address).sin6_port = htons(port);
  } else {
    reinterpret_cast<sockaddr_in&>(*address).sin_port = htons(port);
  }
  return address;
}

std::string HostOf(const sockaddr_storage& address) {
  char host[NI_MAXHOST];
  const socklen_t length = address.ss_family == AF_INET6 ? sizeof(sockaddr_in6) : sizeof(sockaddr_in);
  const int error = getnameinfo(reinterpret_cast<const sockaddr*>(&address), length, host, sizeof(host),
                                nullptr, 0, NI_NUMERICHOST);
  return error == 0 ? host : gai_strerror(error);
}

uint16_t PortOf(const sockaddr_storage& address) { return ntohs(static_cast<uint16_t>(Raw(address).second)); }

bool IsWildcard(const std::string& host) {
  const absl::StatusOr<sockaddr_storage> address = NumericSockaddr(host, 0);
  if (!address.ok()) return false;
  const std::string bytes = Raw(*address).first;
  return bytes == std::string(bytes.size(), '\0');
}

std::string LargestHost(int family) {
  return family == AF_INET6 ? "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff" : "255.255.255.255";
}

absl::StatusOr<std::string> ResolveHost(const std::string& host, int family, absl::string_view field) {
  absl::StatusOr<sockaddr_storage> address = Lookup(host, family, 0);
  if (!address.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat(field, " \"", host, "\" is not an ",
                     family == AF_INET    ? "IPv4 "
                     : family == AF_INET6 ? "IPv6 "
                                          : "",
                     "address or the name of a host: ", address.status().message()));
  }
  return HostOf(*address);
}

bool ConnectsItself(const sockaddr_storage& listening, const sockaddr_storage& peer) {
  // std::string compares bytes as unsigned, as memcmp does.
  return Raw(listening) > Raw(peer);
}

absl::StatusOr<ConnectRole> RoleTowards(const MeshAddress& self, const MeshAddress& peer) {
  const auto connects = [](const MeshAddress& from, const MeshAddress& to) -> absl::StatusOr<bool> {
    SDP_ASSIGN_OR_RETURN(const sockaddr_storage listening,
                         NumericSockaddr(from.bound_host, from.ports[to.rank]));
    SDP_ASSIGN_OR_RETURN(const sockaddr_storage target,
                         NumericSockaddr(to.advertised_host, to.ports[from.rank]));
    if (listening.ss_family != target.ss_family) {
      return absl::FailedPreconditionError(absl::StrCat(
          "rank ", from.rank, " listens on ", from.bound_host, " and rank ", to.rank, " is reached at ",
          to.advertised_host, ": one is an IPv4 and the other an IPv6 address"));
    }
    return ConnectsItself(listening, target);
  };
  SDP_ASSIGN_OR_RETURN(const bool self_connects, connects(self, peer));
  SDP_ASSIGN_OR_RETURN(const bool peer_connects, connects(peer, self));
  if (!self_connects && !peer_connects) {
    return absl::FailedPreconditionError(absl::StrCat(
        "Gloo connects only from the larger address to the smaller one: neither does rank ", self.rank,
        " (listens on ", self.bound_host, ", is reached at ", self.advertised_host, ") connect to rank ",
        peer.rank, " (listens on ", peer.bound_host, ", is reached at ", peer.advertised_host,
        ") nor the other way; let each listen on the address at which it is reached"));
  }
  if (self_connects && peer_connects) {
    return self.rank > peer.rank ? ConnectRole::kConnects : ConnectRole::kListens;
  }
  return self_connects ? ConnectRole::kConnects : ConnectRole::kListens;
}

}  // namespace sdp
