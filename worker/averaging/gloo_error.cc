#include "worker/averaging/gloo_error.h"

namespace sdp {

std::string ReasonOf(absl::string_view gloo_message) {
  absl::string_view reason = gloo_message;
  if (reason.substr(0, 1) == "[") {
    const size_t end = reason.find("] ");
    if (end != absl::string_view::npos) reason.remove_prefix(end + 2);
  }
  const size_t colon = reason.rfind(": ");
  if (colon != absl::string_view::npos) return std::string(reason.substr(colon + 2));
  return std::string(reason.substr(0, reason.find(" [")));
}

}  // namespace sdp
