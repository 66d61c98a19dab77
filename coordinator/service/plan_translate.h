// Questions and answers of PlanService as proto.
#pragma once

#include <vector>

#include "common/wire/wire.h"
#include "coordinator/planning/dry_run.h"
#include "sdp/v1/plan_service.pb.h"

namespace sdp::coordinator {

// Most workers that a dry run plans for: as many as a job may have.
inline constexpr int kMaxPlannedWorkers = 1024;

// Everything of the question but the live workers, whose place is left empty. Adds to `problems` what is
// wrong; the question is only complete when there are none.
DryRunQuestion QuestionFromProto(const v1::PlanJobRequest& request, std::vector<SpecProblem>& problems);

v1::PlanJobResponse AnswerToProto(const DryRun& run);

}  // namespace sdp::coordinator
