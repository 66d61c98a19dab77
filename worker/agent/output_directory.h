// The folder that a job's model is exported to.
#pragma once

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "common/base/ids.h"

namespace sdp {

// Makes sure, before any training, that the export can be written: creates the folder if needed, writes and
// removes a probe file, and looks at the free space. Errors name the folder: PERMISSION_DENIED or
// FAILED_PRECONDITION when it cannot be created or written, RESOURCE_EXHAUSTED when fewer than `bytes` are
// free.
absl::Status CheckOutputDirectory(const std::string& directory, Rank rank, int64_t bytes);

}  // namespace sdp
