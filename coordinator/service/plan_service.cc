#include "coordinator/service/plan_service.h"

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/wire/wire.h"

namespace sdp::coordinator {

grpc::ServerUnaryReactor* PlanService::PlanJob(grpc::CallbackServerContext* context,
                                               const v1::PlanJobRequest* request,
                                               v1::PlanJobResponse* response) {
  const UnaryCall call(context_, context, "PlanService/PlanJob");
  call.Finish(Plan(*request, response));
  return call.reactor();
}

absl::Status PlanService::Plan(const v1::PlanJobRequest& request, v1::PlanJobResponse* response) const {
  JobSpec spec;
  std::vector<SpecProblem> problems = ValidateSpec(request.spec(), &spec);
  const int workers = request.workers() != 0 ? request.workers() : spec.workers.max;
  if (workers < 1 || workers > kMaxPlannedWorkers) {
    problems.push_back({"workers", absl::StrCat("is ", workers, "; must be 1 to ", kMaxPlannedWorkers)});
  }
  if (!problems.empty()) return ProblemsToStatus(problems);
  std::vector<PlanMember> members(workers);
  for (int i = 0; i < workers; ++i) members[i].worker = WorkerName(absl::StrCat("worker-", i));
  absl::StatusOr<sdp::Plan> plan = planner_(spec, std::move(members), Epoch(1), /*first_step=*/0);
  if (!plan.ok()) {
    return absl::FailedPreconditionError(
        absl::StrCat("no plan is possible for ", workers, " workers: ", plan.status().message()));
  }
  *response->mutable_plan() = PlanToProto(*plan);
  return absl::OkStatus();
}

}  // namespace sdp::coordinator
