// The edge at which LibTorch's exceptions become a Status. Included by files that use LibTorch only.
#pragma once

#include <exception>
#include <new>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "c10/util/Exception.h"

namespace sdp {

inline absl::Status TorchErrorToStatus(absl::string_view what, absl::string_view message) {
  const std::string text = absl::StrCat(what, ": ", message);
  const bool out_of_memory =
      absl::StrContains(message, "allocate memory") || absl::StrContains(message, "not enough memory");
  return out_of_memory ? absl::ResourceExhaustedError(text) : absl::InternalError(text);
}

// Runs `body`, which returns a Status or a StatusOr. RESOURCE_EXHAUSTED: out of memory, in LibTorch's words
// (with the amount); INTERNAL: any other exception. `what` begins the message.
template <typename Body>
auto CatchTorchErrors(absl::string_view what, Body body) -> decltype(body()) {
  try {
    return body();
  } catch (const c10::Error& error) {
    return TorchErrorToStatus(what, error.what_without_backtrace());
  } catch (const std::bad_alloc&) {
    return absl::ResourceExhaustedError(absl::StrCat(what, ": out of memory"));
  } catch (const std::exception& error) {
    return TorchErrorToStatus(what, error.what());
  }
}

}  // namespace sdp
