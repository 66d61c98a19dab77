#include "common/base/utf8.h"

#include <cstddef>
#include <cstdint>

namespace sdp {
namespace {

// Bytes of the well-formed character that `text` (not empty) starts with; 0 when there is none.
size_t CharacterLength(absl::string_view text) {
  const auto byte = [&](size_t i) { return i < text.size() ? static_cast<uint8_t>(text[i]) : uint8_t{0}; };
  const auto continues = [&](size_t i) { return (byte(i) & 0xc0) == 0x80; };
  const uint8_t first = byte(0);
  if (first < 0x80) return 1;
  if (first < 0xc2 || first > 0xf4 || !continues(1)) return 0;
  if (first < 0xe0) return 2;
  if (!continues(2)) return 0;
  if (first < 0xf0) {
    if (first == 0xe0 && byte(1) < 0xa0) return 0;  // longer than needed
    if (first == 0xed && byte(1) > 0x9f) return 0;  // surrogates
    return 3;
  }
  if (first == 0xf0 && byte(1) < 0x90) return 0;  // longer than needed
  if (first == 0xf4 && byte(1) > 0x8f) return 0;  // above U+10FFFF
  return continues(3) ? 4 : 0;
}

}  // namespace

bool IsUtf8(absl::string_view text) {
  while (!text.empty()) {
    const size_t length = CharacterLength(text);
    if (length == 0) return false;
    text.remove_prefix(length);
  }
  return true;
}

std::string ToUtf8(absl::string_view text) {
  std::string result;
  while (!text.empty()) {
    const size_t length = CharacterLength(text);
    if (length == 0) {
      result += '?';
      text.remove_prefix(1);
      continue;
    }
    result.append(text.data(), length);
    text.remove_prefix(length);
  }
  return result;
}

absl::string_view CutUtf8(absl::string_view text, size_t bytes) {
  if (text.size() <= bytes) return text;
  while (bytes > 0 && (static_cast<uint8_t>(text[bytes]) & 0xc0) == 0x80) --bytes;
  return text.substr(0, bytes);
}

}  // namespace sdp
