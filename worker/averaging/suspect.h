// The peer that an error seems to come from, carried beside the message so that the coordinator can tell
// cause from victim.
#pragma once

#include <optional>

#include "absl/status/status.h"
#include "common/base/ids.h"

namespace sdp {

// `status` with the suspected rank attached.
absl::Status WithSuspect(absl::Status status, Rank rank);

// The attached rank, if any.
std::optional<Rank> SuspectedRank(const absl::Status& status);

}  // namespace sdp
