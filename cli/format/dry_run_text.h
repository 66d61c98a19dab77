// What PlanJob answers beside the plan, as text.
#pragma once

#include <string>

#include "cli/format/mask_drawing.h"
#include "sdp/v1/plan_service.pb.h"

namespace sdp::cli {

// The ratios that were tried for `memory_bytes` on each worker, and which of them the plan has.
std::string FitsText(const v1::PlanJobResponse& response, int64_t memory_bytes);

// A column for each generator, the spec's own first unless it was asked for; then why some gave no plan, and
// the masks. `own` is the spec's generator, whose plan is response.plan. `assumed` as in PlanTextOptions.
std::string ComparisonText(const v1::PlanJobResponse& response, v1::MaskGenerator own,
                           const std::string& assumed, const Terminal& terminal);

// The masks of a schedule over the steps.
std::string ScheduleText(const v1::MaskSchedule& schedule, int redraw_every_steps);

// What moves when workers join or leave; with `terminal`, the mask afterwards.
std::string ChangeText(const v1::PlanJobResponse& response, const Terminal* terminal);

}  // namespace sdp::cli
