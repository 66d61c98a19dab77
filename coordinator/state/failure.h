// Why a job failed, from what was seen. Pure functions.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "common/base/ids.h"
#include "common/model/worker_messages.h"

namespace sdp::coordinator {

// One member's loss or report of a failure.
struct FailureEvidence {
  WorkerName worker;
  bool lost = false;
  absl::Status error;           // of a member that reported FAILED; for a loss, why it counts as lost
  WorkerName suspected_worker;  // peer that the reporter blames; empty when it blames itself or nobody
};

// The root cause among `evidence` (in order of arrival; not empty), for people. When one member dies, the
// others fail because of it; so lost workers come first, then the first error that blames no peer and is not
// a mere cancellation, then the first error. `when` says how far the job was: "at step 12 of 300".
std::string DescribeRootCause(const std::vector<FailureEvidence>& evidence, const std::string& when);

// What is different between the data files that the members see: names the file and who sees what. Empty when
// all see the same.
std::string DescribeFingerprintMismatch(
    const std::vector<std::pair<WorkerName, std::vector<ShardFingerprint>>>& seen);

}  // namespace sdp::coordinator
