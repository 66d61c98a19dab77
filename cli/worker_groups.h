// The workers that a plan is for, as people write them.
#pragma once

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "sdp/v1/plan_service.pb.h"

namespace sdp::cli {

// Reads "8" (equal workers without limits), "live" (the workers in the cluster), or groups: "4x80GiB,4x40GiB"
// (memory of each), "4x80GiB@2,4x40GiB" (speed relative to the other groups), "2@1.5,6". Sets one of workers,
// live_workers and worker_groups in `request`. INVALID_ARGUMENT says what is wrong and what would be right.
absl::Status ParseWorkers(absl::string_view text, v1::PlanJobRequest* request);

}  // namespace sdp::cli
