// Bytes and counts as people write and read them.
#pragma once

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace sdp {

// "812 B", "45.1 MiB", "1.20 GiB": binary units, three significant digits.
std::string FormatBytes(double bytes);

// The same, never less than `bytes`: for advice that must suffice.
std::string FormatBytesUp(double bytes);

// "987", "12.3k", "860k", "1.24G": decimal units, three significant digits.
std::string FormatCount(double count);

// "24GiB", "1.5 TiB", "80GB" (decimal), "24Gi" (as in Kubernetes), "4096": a number of bytes, above 0.
// INVALID_ARGUMENT says what would be right.
absl::StatusOr<int64_t> ParseBytes(absl::string_view text);

// What ParseBytes reads as exactly `bytes`, in the largest unit that leaves a whole number: "24GiB", "1000B".
std::string WriteBytes(int64_t bytes);

// "2T", "312.5G", "1e12": decimal units, above 0. INVALID_ARGUMENT says what would be right.
absl::StatusOr<double> ParseCount(absl::string_view text);

}  // namespace sdp
