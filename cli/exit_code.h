// What a command's end means to scripts.
#pragma once

#include "absl/status/status.h"

namespace sdp::cli {

enum ExitCode {
  kExitOk = 0,
  kExitFailed = 1,  // the job failed or was cancelled, or the command could not be carried out
  kExitUsage = 2,   // wrong arguments or a wrong spec
  kExitUnreachable = 3,
  kExitNotFound = 4,
  kExitDenied = 5,
  kExitTimeout = 124,
  kExitInterrupted = 130,
};

ExitCode ExitCodeOf(const absl::Status& status);

}  // namespace sdp::cli
