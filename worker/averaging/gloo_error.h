// Gloo's exceptions, for people.
#pragma once

#include <string>

#include "absl/strings/string_view.h"

namespace sdp {

// "Connection refused" of "[/build/gloo/pair.cc:1] connect [10.0.0.5]:20515: Connection refused": where in
// Gloo's source it happened says nothing to a user, and Gloo prints ports with their bytes swapped.
std::string ReasonOf(absl::string_view gloo_message);

}  // namespace sdp
