// Pages of listings.
#pragma once

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"

namespace sdp::coordinator {

// Answers stay well below gRPC's limit of 4 MiB: a page ends early, with a token, when it has grown to this.
inline constexpr size_t kMaxPageBytes = 2 << 20;
inline constexpr int kMaxPageSize = 1000;

// Entries of one page. `requested` 0 means `otherwise`; more than kMaxPageSize is cut to it. INVALID_ARGUMENT
// when negative.
absl::StatusOr<int> PageSize(int requested, int otherwise);

// An opaque token that says where the next page of the listing `listing` begins, and the reverse.
// INVALID_ARGUMENT: not a token of that listing.
std::string EncodePageToken(const std::string& listing, const std::string& position);
absl::StatusOr<std::string> DecodePageToken(const std::string& listing, const std::string& token);

}  // namespace sdp::coordinator
