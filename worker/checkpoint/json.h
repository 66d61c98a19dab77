// Strict parsing of JSON, without exceptions.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace sdp {

// INVALID_ARGUMENT begins with `source` (a file's name): not JSON, with the position, or an object with one
// key twice, which JSON parsers otherwise let pass with either value.
absl::StatusOr<nlohmann::json> ParseJson(absl::string_view text, const std::string& source);

}  // namespace sdp
