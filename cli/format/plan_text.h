// Plans as text.
#pragma once

#include <string>

#include "cli/format/mask_drawing.h"
#include "sdp/v1/plan.pb.h"

namespace sdp::cli {

struct PlanTextOptions {
  bool wide = false;    // a row per worker with its memory's parts, and a row per holder set, too
  std::string assumed;  // what predicted times are based on; empty: nothing
  Terminal terminal;
};

// A row per worker, the summary, why the mask is what it is, and the mask drawn as workers x blocks. Columns
// and lines about budgets, speeds, times and device memory appear when the plan knows them.
std::string PlanText(const v1::Plan& plan, const PlanTextOptions& options);

// Over the plan's workers; 0 when there are none.
double MeanBytesPerStep(const v1::PlanSummary& summary);
int64_t LargestPeakMemory(const v1::PlanSummary& summary);
int MostCommunicators(const v1::PlanSummary& summary);
int64_t LargestCommunicatorMemory(const v1::PlanSummary& summary);

// "110 ms to 130 ms": the predicted time of a step; empty when it is not known.
std::string StepTimeText(const v1::PlanSummary& summary);

}  // namespace sdp::cli
