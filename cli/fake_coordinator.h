// A coordinator for tests: a real gRPC server on loopback whose answers the test scripts.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "absl/synchronization/notification.h"
#include "common/rpc/options.h"
#include "common/rpc/status.h"
#include "grpcpp/server.h"
#include "sdp/v1/cluster_service.grpc.pb.h"
#include "sdp/v1/job_service.grpc.pb.h"
#include "sdp/v1/plan_service.grpc.pb.h"

namespace sdp::cli {

// Each call goes to the function of its name; one that is not set answers UNIMPLEMENTED.
class FakeCoordinator : private v1::JobService::Service,
                        private v1::PlanService::Service,
                        private v1::ClusterService::Service {
 public:
  template <typename Request, typename Response>
  using Handler = std::function<absl::Status(const Request&, Response*)>;
  using Send = std::function<void(const v1::WatchJobResponse&)>;

  FakeCoordinator() {
    grpc::ServerBuilder builder;
    ApplyServerOptions(builder);
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port_);
    builder.RegisterService(static_cast<v1::JobService::Service*>(this));
    builder.RegisterService(static_cast<v1::PlanService::Service*>(this));
    builder.RegisterService(static_cast<v1::ClusterService::Service*>(this));
    server_ = builder.BuildAndStart();
  }
  ~FakeCoordinator() override {
    Release();
    server_->Shutdown();
  }

  std::string address() const { return "127.0.0.1:" + std::to_string(port_); }
  // For handlers: blocks until the end of the test.
  void Hang() { released_.WaitForNotification(); }
  void Release() {
    if (!released_.HasBeenNotified()) released_.Notify();
  }

  Handler<v1::CreateJobRequest, v1::CreateJobResponse> create_job;
  Handler<v1::GetJobRequest, v1::GetJobResponse> get_job;
  Handler<v1::ListJobsRequest, v1::ListJobsResponse> list_jobs;
  Handler<v1::CancelJobRequest, v1::CancelJobResponse> cancel_job;
  Handler<v1::PlanJobRequest, v1::PlanJobResponse> plan_job;
  Handler<v1::ListWorkersRequest, v1::ListWorkersResponse> list_workers;
  Handler<v1::GetWorkerRequest, v1::GetWorkerResponse> get_worker;
  std::function<absl::Status(const v1::WatchJobRequest&, const Send&)> watch_job;

 private:
  template <typename Request, typename Response>
  static grpc::Status Answer(const Handler<Request, Response>& handler, const Request* request,
                             Response* response) {
    return ToGrpc(handler ? handler(*request, response) : absl::UnimplementedError("not scripted"));
  }

  grpc::Status CreateJob(grpc::ServerContext*, const v1::CreateJobRequest* request,
                         v1::CreateJobResponse* response) override {
    return Answer(create_job, request, response);
  }
  grpc::Status GetJob(grpc::ServerContext*, const v1::GetJobRequest* request,
                      v1::GetJobResponse* response) override {
    return Answer(get_job, request, response);
  }
  grpc::Status ListJobs(grpc::ServerContext*, const v1::ListJobsRequest* request,
                        v1::ListJobsResponse* response) override {
    return Answer(list_jobs, request, response);
  }
  grpc::Status CancelJob(grpc::ServerContext*, const v1::CancelJobRequest* request,
                         v1::CancelJobResponse* response) override {
    return Answer(cancel_job, request, response);
  }
  grpc::Status WatchJob(grpc::ServerContext*, const v1::WatchJobRequest* request,
                        grpc::ServerWriter<v1::WatchJobResponse>* writer) override {
    if (!watch_job) return ToGrpc(absl::UnimplementedError("not scripted"));
    // A client that has gone is no concern of the script.
    return ToGrpc(
        watch_job(*request, [writer](const v1::WatchJobResponse& update) { (void)writer->Write(update); }));
  }
  grpc::Status PlanJob(grpc::ServerContext*, const v1::PlanJobRequest* request,
                       v1::PlanJobResponse* response) override {
    return Answer(plan_job, request, response);
  }
  grpc::Status ListWorkers(grpc::ServerContext*, const v1::ListWorkersRequest* request,
                           v1::ListWorkersResponse* response) override {
    return Answer(list_workers, request, response);
  }
  grpc::Status GetWorker(grpc::ServerContext*, const v1::GetWorkerRequest* request,
                         v1::GetWorkerResponse* response) override {
    return Answer(get_worker, request, response);
  }

  absl::Notification released_;
  int port_ = 0;
  std::unique_ptr<grpc::Server> server_;
};

}  // namespace sdp::cli
