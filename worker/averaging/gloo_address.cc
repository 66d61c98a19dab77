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
  for (const char* name : {"rank", "key", "host", "ports"}) {
    if (words.count(name) == 0) return absl::InvalidArgumentError(absl::StrCat(name, "= is missing"));
  }
  return words;
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
  address.host = words["host"];
  SDP_RETURN_IF_ERROR(NumericSockaddr(address.host, 0).status());
  if (IsWildcard(address.host)) return absl::InvalidArgumentError("its host stands for all interfaces");
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

}  // namespace

std::string FormatMeshAddress(const MeshAddress& address) {
  return absl::StrFormat("%s rank=%d key=%016x host=%s ports=%s", kFormat, address.rank, address.key,
                         address.host, absl::StrJoin(address.ports, ","));
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
  const bool v6 = absl::StrContains(address.host, ':');
  return absl::StrCat(v6 ? "[" : "", address.host, v6 ? "]:" : ":", address.ports[peer]);
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

uint16_t PortOf(const sockaddr_storage& address) {
  return ntohs(address.ss_family == AF_INET6 ? reinterpret_cast<const sockaddr_in6&>(address).sin6_port
                                             : reinterpret_cast<const sockaddr_in&>(address).sin_port);
}

bool IsWildcard(const std::string& host) {
  const absl::StatusOr<sockaddr_storage> address = NumericSockaddr(host, 0);
  if (!address.ok()) return false;
  if (address->ss_family == AF_INET) {
    return reinterpret_cast<const sockaddr_in&>(*address).sin_addr.s_addr == INADDR_ANY;
  }
  return IN6_IS_ADDR_UNSPECIFIED(&reinterpret_cast<const sockaddr_in6&>(*address).sin6_addr);
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

}  // namespace sdp
