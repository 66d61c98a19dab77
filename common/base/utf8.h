// Text that can go into a proto string.
#pragma once

#include <cstddef>
#include <string>

#include "absl/strings/string_view.h"

namespace sdp {

// Whether `text` is well-formed UTF-8 (Unicode 15, table 3-7).
bool IsUtf8(absl::string_view text);

// `text` with each byte that belongs to no well-formed character replaced by '?'.
std::string ToUtf8(absl::string_view text);

// The longest start of `text`, which is UTF-8, of at most `bytes` bytes that splits no character.
absl::string_view CutUtf8(absl::string_view text, size_t bytes);

}  // namespace sdp
