// Jobs, their events and their progress as text.
#pragma once

#include <string>
#include <vector>

#include "absl/time/time.h"
#include "sdp/v1/job.pb.h"

namespace sdp::cli {

// A row per job.
std::string JobTable(const std::vector<v1::Job>& jobs, bool wide, absl::Time now);

// One job in full; `wide` adds a row per worker.
std::string DescribeJob(const v1::Job& job, bool wide, absl::Time now, absl::TimeZone zone);

// "12:34:05  running  step 120: what and why", without a newline.
std::string EventLine(const v1::JobEvent& event, absl::TimeZone zone);

// "step 120/400 30%  loss 2.345  12.3k tokens/s  ETA 42s  ...", without a newline.
std::string ProgressLine(const v1::JobProgress& progress);

// Whether a job in this state stays in it.
bool IsTerminal(v1::JobState state);

}  // namespace sdp::cli
