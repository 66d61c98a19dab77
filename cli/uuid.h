// Identities of requests.
#pragma once

#include <string>

namespace sdp::cli {

// A random UUID (RFC 4122, version 4).
std::string RandomUuid();

}  // namespace sdp::cli
