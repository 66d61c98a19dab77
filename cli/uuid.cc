#include "cli/uuid.h"

#include <cstdint>
#include <random>

#include "absl/strings/str_format.h"

namespace sdp::cli {

std::string RandomUuid() {
  std::random_device source;
  const uint32_t a = source(), b = source(), c = source(), d = source();
  return absl::StrFormat("%08x-%04x-4%03x-%04x-%04x%08x", a, b >> 16, b & 0xfff, (c & 0x3fff) | 0x8000,
                         c >> 16, d);
}

}  // namespace sdp::cli
