// The JSON header of a safetensors file.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "worker/checkpoint/safetensors.h"

namespace sdp {

// The format's limit on the header, in bytes.
inline constexpr int64_t kMaxSafetensorsHeader = 100'000'000;

struct SafetensorsHeader {
  std::vector<StoredTensor> tensors;  // in the order of their data
  std::vector<int64_t> offsets;       // [tensor]: first byte after the header
  std::map<std::string, std::string> metadata;
};

// The header of tensors that follow each other without holes, with metadata {"format": "pt"}, padded with
// spaces to a multiple of 8 bytes. INVALID_ARGUMENT begins with `path`; see SafetensorsWriter::Create.
absl::StatusOr<std::string> FormatSafetensorsHeader(const std::vector<StoredTensor>& tensors,
                                                    const std::string& path);

// Parses and checks a header whose tensors take `data_bytes` bytes. INVALID_ARGUMENT begins with `path`; see
// SafetensorsReader::Open.
absl::StatusOr<SafetensorsHeader> ParseSafetensorsHeader(absl::string_view text, int64_t data_bytes,
                                                         const std::string& path);

}  // namespace sdp
