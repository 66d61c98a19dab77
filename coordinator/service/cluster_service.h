// ClusterService: translates and delegates.
#pragma once

#include "coordinator/service/unary.h"
#include "sdp/v1/cluster_service.grpc.pb.h"

namespace sdp::coordinator {

class ClusterService : public v1::ClusterService::CallbackService {
 public:
  explicit ClusterService(const UnaryContext& context) : context_(context) {}

  grpc::ServerUnaryReactor* ListWorkers(grpc::CallbackServerContext* context,
                                        const v1::ListWorkersRequest* request,
                                        v1::ListWorkersResponse* response) override;
  grpc::ServerUnaryReactor* GetWorker(grpc::CallbackServerContext* context,
                                      const v1::GetWorkerRequest* request,
                                      v1::GetWorkerResponse* response) override;

 private:
  const UnaryContext context_;
};

}  // namespace sdp::coordinator
