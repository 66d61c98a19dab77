// Whether text can go into a proto string.
#pragma once

#include "absl/strings/string_view.h"

namespace sdp {

// Whether `text` is well-formed UTF-8 (Unicode 15, table 3-7).
bool IsUtf8(absl::string_view text);

}  // namespace sdp
