// Plans as text.
#pragma once

#include <string>

#include "sdp/v1/plan.pb.h"

namespace sdp::cli {

// A row per worker, the summary, and the mask drawn as workers x blocks; `wide` adds a row per holder set.
// `utf8`: whether the terminal shows more than ASCII.
std::string PlanText(const v1::Plan& plan, bool wide, bool utf8);

// What data parallelism would send per worker and step, in bytes: all parameters at the ring minimum, in
// float32.
double DataParallelBytesPerStep(const v1::Plan& plan);

}  // namespace sdp::cli
