// What a job would look like, before anything runs: its plan, and what users ask about it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/optional.h"
#include "common/model/job_spec.h"
#include "common/model/plan.h"
#include "coordinator/planning/fit_ratio.h"
#include "coordinator/planning/masks/mask_schedule.h"
#include "coordinator/planning/step_time.h"

namespace sdp {

struct DryRunQuestion {
  JobSpec spec;
  std::vector<PlanMember> members;  // as for MakePlan
  DeviceProfile device;
  int64_t fit_memory_bytes = 0;        // largest ratio that fits into this on each worker; 0: not asked
  std::vector<MaskGenerator> compare;  // plan with each of these too
  int redraw_every_steps = 0;          // 0: one mask
  int change_to_workers = 0;           // 0: no change
};

struct ComparedPlan {
  MaskGenerator generator = MaskGenerator::kBalanced;
  absl::optional<Plan> plan;
  std::string reason;  // why there is none
};

struct MaskChange {
  Plan plan;  // after the change
  double moved_bytes = 0;
  double moved_bytes_lower_bound = 0;
  double fresh_gap = 0;  // of a mask made from nothing
};

struct DryRun {
  Plan plan;
  std::vector<RatioFit> fits;  // every ratio that was tried, largest first
  std::vector<ComparedPlan> compared;
  absl::optional<MaskSchedule> schedule;
  int64_t total_schedule_entries = 0;  // that the whole job would have
  absl::optional<MaskChange> change;
};

// Errors are those of MakePlan; with fit_memory_bytes, also when no ratio fits (with the smallest memory that
// would do) or when the generator has no ratio to choose (INVALID_ARGUMENT).
absl::StatusOr<DryRun> PlanDryRun(const DryRunQuestion& question);

}  // namespace sdp
