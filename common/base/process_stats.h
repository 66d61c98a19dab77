// What the kernel says about this process.
#pragma once

#include <cstdint>

#include "absl/status/statusor.h"

namespace sdp {

struct ProcessStats {
  int64_t resident_bytes = 0;
  int threads = 0;
  int open_file_descriptors = 0;
};

// Reads /proc/self. INTERNAL names the file that could not be read or understood. Thread-safe; costs three
// small reads.
absl::StatusOr<ProcessStats> ReadProcessStats();

}  // namespace sdp
