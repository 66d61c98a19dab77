// JobService: translates and delegates.
#pragma once

#include "coordinator/service/unary.h"
#include "coordinator/service/watches.h"
#include "sdp/v1/job_service.grpc.pb.h"

namespace sdp::coordinator {

class JobService : public v1::JobService::CallbackService {
 public:
  JobService(const UnaryContext& context, Watches* watches) : context_(context), watches_(*watches) {}

  grpc::ServerUnaryReactor* CreateJob(grpc::CallbackServerContext* context,
                                      const v1::CreateJobRequest* request,
                                      v1::CreateJobResponse* response) override;
  grpc::ServerUnaryReactor* GetJob(grpc::CallbackServerContext* context, const v1::GetJobRequest* request,
                                   v1::GetJobResponse* response) override;
  grpc::ServerUnaryReactor* ListJobs(grpc::CallbackServerContext* context, const v1::ListJobsRequest* request,
                                     v1::ListJobsResponse* response) override;
  grpc::ServerUnaryReactor* CancelJob(grpc::CallbackServerContext* context,
                                      const v1::CancelJobRequest* request,
                                      v1::CancelJobResponse* response) override;
  grpc::ServerWriteReactor<v1::WatchJobResponse>* WatchJob(grpc::CallbackServerContext* context,
                                                           const v1::WatchJobRequest* request) override;

 private:
  const UnaryContext context_;
  Watches& watches_;
};

// An id for a new job, from the name that people gave it and random characters: unique over all coordinator
// processes, so that nothing of an earlier job can be mistaken for the new one's.
JobId NewJobId(const std::string& display_name);

}  // namespace sdp::coordinator
