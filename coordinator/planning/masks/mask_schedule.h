// A mask schedule: from which step on which mask holds, planned and costed before the run.
#pragma once

#include <cstdint>
#include <vector>

#include "coordinator/planning/masks/mask_problem.h"
#include "coordinator/planning/spectrum/schedule_spectrum.h"

namespace sdp {

struct ScheduleEntry {
  int64_t from_step = 0;
  Mask mask;
  double gap = 0;
  double moved_bytes = 0;  // from the entry before; 0 for the first
  // The least that any re-drawing moves in which every worker takes on a component, where it lacks one.
  double moved_bytes_lower_bound = 0;
};

struct MaskSchedule {
  std::vector<ScheduleEntry> entries;
  ScheduleSpectrum spectrum;  // of the entries in order
};

struct RedrawOptions {
  int64_t first_step = 0;
  int64_t end_step = 1;  // exclusive; above first_step
  int every_steps = 0;   // 0: one mask for the whole run
  int max_entries = 32;  // plan ahead so far at most; the rest is planned from the last entry later
};

// The first entry is `first`, a mask for `problem`. Each further one is re-drawn from the one before by
// exchanges: workers pair up, and each gives the other one component that this one lacks, preferring what it
// held least often so far. So numbers of holders and of components stay, and nobody receives more than one
// component (the budgets of unequal workers hold, and pairs that cannot exchange within them do not). Of
// several such draws, the one with the largest gap.
MaskSchedule PlanSchedule(const MaskProblem& problem, const Mask& first, const RedrawOptions& options);

}  // namespace sdp
