// Input of commands.
#pragma once

#include <iosfwd>
#include <string>

#include "absl/status/statusor.h"

namespace sdp::cli {

// All of the file `path`, or of `standard_input` when it is "-". Errors of the system name the file:
// NOT_FOUND, PERMISSION_DENIED.
absl::StatusOr<std::string> ReadText(const std::string& path, std::istream& standard_input);

}  // namespace sdp::cli
