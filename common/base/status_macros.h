// Passing absl::Status on to the caller.
#pragma once

#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

// Returns from the function when `expression` is not OK.
#define SDP_RETURN_IF_ERROR(expression)                                                 \
  do {                                                                                  \
    if (absl::Status sdp_status_ = (expression); !sdp_status_.ok()) return sdp_status_; \
  } while (false)

// Assigns the value of a StatusOr to `target`, or returns its error.
#define SDP_ASSIGN_OR_RETURN(target, expression) \
  SDP_ASSIGN_OR_RETURN_IMPL_(SDP_CONCAT_(sdp_status_or_, __LINE__), target, expression)

#define SDP_CONCAT_INNER_(a, b) a##b
#define SDP_CONCAT_(a, b) SDP_CONCAT_INNER_(a, b)
#define SDP_ASSIGN_OR_RETURN_IMPL_(temporary, target, expression) \
  auto temporary = (expression);                                  \
  if (!temporary.ok()) return std::move(temporary).status();      \
  target = *std::move(temporary)
