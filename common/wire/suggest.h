// Guesses what a misspelt name was meant to be.
#pragma once

#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace sdp {

// The candidate closest to `name`, ignoring case, '_' and '-'; empty when none is close.
std::string ClosestName(absl::string_view name, const std::vector<std::string>& candidates);

}  // namespace sdp
