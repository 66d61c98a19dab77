// PlanService: answers from the planner alone, but for what live workers there are.
#pragma once

#include <vector>

#include "coordinator/planning/dry_run.h"
#include "coordinator/service/unary.h"
#include "coordinator/service/work_queue.h"
#include "sdp/v1/plan_service.grpc.pb.h"

namespace sdp::coordinator {

class PlanService : public v1::PlanService::CallbackService {
 public:
  explicit PlanService(const UnaryContext& context);

  grpc::ServerUnaryReactor* PlanJob(grpc::CallbackServerContext* context, const v1::PlanJobRequest* request,
                                    v1::PlanJobResponse* response) override;

 private:
  absl::Status Plan(const v1::PlanJobRequest& request, v1::PlanJobResponse* response) const;
  // The first workers.max live workers by name.
  absl::StatusOr<std::vector<PlanMember>> LiveMembers(const WorkersSpec& spec) const;

  const UnaryContext context_;
  WorkQueue queue_;
};

}  // namespace sdp::coordinator
