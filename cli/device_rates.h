// What workers' devices and links do in a second: as people write it, or as a job has shown it.
#pragma once

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "sdp/v1/job.pb.h"

namespace sdp::cli {

// Bytes per second of a link: "25Gbit" (also Gbit/s, Gbps) in bits, "3GB" or "2.9GiB" (also GB/s) in bytes.
// INVALID_ARGUMENT says what would be right: a unit that could be either, as in "25Gb", is not.
absl::StatusOr<double> ParseLinkBandwidth(absl::string_view text);

// Floating-point operations per second that a worker of relative speed 1 has reached in the job: those of the
// worker that has most to do for its speed, over the median time of a step, averaging included.
// FAILED_PRECONDITION: the job has no plan or no measured steps yet.
absl::StatusOr<double> MeasuredFlopsPerSecond(const v1::Job& job);

}  // namespace sdp::cli
