// Workers as text.
#pragma once

#include <string>
#include <vector>

#include "absl/time/time.h"
#include "sdp/v1/cluster_service.pb.h"

namespace sdp::cli {

// A row per worker.
std::string WorkerTable(const std::vector<v1::Worker>& workers, bool wide, absl::Time now);

// One worker in full.
std::string DescribeWorker(const v1::Worker& worker, absl::Time now);

}  // namespace sdp::cli
