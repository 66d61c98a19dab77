// Checks of what the program itself guarantees. Bad input is never checked with these: it gets an
// absl::Status.
#pragma once

#include "absl/base/internal/raw_logging.h"

// Ends the process with a message when `condition` does not hold; active in every build.
#define SDP_CHECK(condition, message)                                                   \
  do {                                                                                  \
    if (!(condition)) ABSL_RAW_LOG(FATAL, "Check failed: %s: %s", #condition, message); \
  } while (false)
