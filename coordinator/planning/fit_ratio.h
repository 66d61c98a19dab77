// The largest active ratio that fits.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/model/job_spec.h"
#include "common/model/parameter_table.h"
#include "common/model/plan.h"

namespace sdp {

struct RatioFit {
  double active_ratio = 0;
  int64_t peak_memory_bytes = 0;  // largest of a worker; 0 when there is no plan at any budget
  double gap = 0;
  std::string reason;  // why it does not fit; empty: it does
};

struct FittingPlan {
  JobSpec spec;  // with the ratio that was found, and the memory that it was found for as a budget
  Plan plan;
};

// The plan of the largest ratio k / workers (whole k) whose predicted memory is at most `bytes` on each
// worker, and within each worker's own budget. Up to 16 workers every ratio is tried that is larger, above by
// bisection: more holders never need less memory. `*fits` are those tried, largest first.
//
// INVALID_ARGUMENT: the generator is explicit or full, which have no ratio to choose. FAILED_PRECONDITION:
// none fits, with the least that would.
absl::StatusOr<FittingPlan> FitRatio(JobSpec spec, const ParameterTable& table,
                                     std::vector<PlanMember> members, int64_t bytes,
                                     std::vector<RatioFit>* fits);

}  // namespace sdp
