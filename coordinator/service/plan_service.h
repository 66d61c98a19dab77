// PlanService: translates and delegates to the planner; needs nothing of the core.
#pragma once

#include "coordinator/service/unary.h"
#include "coordinator/state/events.h"
#include "sdp/v1/plan_service.grpc.pb.h"

namespace sdp::coordinator {

// Most workers that a dry run plans for.
inline constexpr int kMaxPlannedWorkers = 4096;

class PlanService : public v1::PlanService::CallbackService {
 public:
  PlanService(const UnaryContext& context, Planner planner)
      : context_(context), planner_(std::move(planner)) {}

  grpc::ServerUnaryReactor* PlanJob(grpc::CallbackServerContext* context, const v1::PlanJobRequest* request,
                                    v1::PlanJobResponse* response) override;

 private:
  absl::Status Plan(const v1::PlanJobRequest& request, v1::PlanJobResponse* response) const;

  const UnaryContext context_;
  const Planner planner_;
};

}  // namespace sdp::coordinator
