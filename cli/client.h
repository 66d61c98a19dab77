// Calls to the coordinator, with errors that say what to do.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "cli/session.h"
#include "common/rpc/options.h"
#include "common/rpc/status.h"
#include "grpcpp/channel.h"
#include "sdp/v1/cluster_service.grpc.pb.h"
#include "sdp/v1/job_service.grpc.pb.h"
#include "sdp/v1/plan_service.grpc.pb.h"

namespace sdp::cli {

// Errors of all calls: UNAVAILABLE: the coordinator cannot be reached. DEADLINE_EXCEEDED: it did not answer
// in time. CANCELLED: interrupted. Everything else is the coordinator's answer.
class Client {
 public:
  explicit Client(Session& session);

  absl::StatusOr<v1::Job> CreateJob(const v1::CreateJobRequest& request);
  absl::StatusOr<v1::Job> GetJob(const std::string& name);
  absl::StatusOr<v1::Job> CancelJob(const std::string& name);
  absl::StatusOr<v1::PlanJobResponse> PlanJob(const v1::PlanJobRequest& request);
  absl::StatusOr<v1::Worker> GetWorker(const std::string& name);
  // All pages, at most `limit` (0: all).
  absl::StatusOr<std::vector<v1::Job>> ListJobs(int limit);
  absl::StatusOr<std::vector<v1::Worker>> ListWorkers();

  v1::JobService::Stub& jobs() { return *jobs_; }
  // Turns what gRPC says into what the user should know.
  absl::Status Explain(const absl::Status& status) const;

 private:
  // One unary call: `method` is a member function of `stub`.
  template <typename Stub, typename Request, typename Response>
  absl::StatusOr<Response> Call(Stub& stub,
                                grpc::Status (Stub::*method)(grpc::ClientContext*, const Request&, Response*),
                                const Request& request) {
    grpc::ClientContext context;
    SetDeadline(context, timeout_);
    Response response;
    grpc::Status status;
    {
      InterruptibleCall interruptible(session_.environment.interrupt, context);
      status = (stub.*method)(&context, request, &response);
    }
    if (!status.ok()) return Explain(FromGrpc(status));
    return response;
  }

  Session& session_;
  const absl::Duration timeout_;  // of one unary call
  const std::shared_ptr<grpc::Channel> channel_;
  const std::unique_ptr<v1::JobService::Stub> jobs_;
  const std::unique_ptr<v1::PlanService::Stub> plans_;
  const std::unique_ptr<v1::ClusterService::Stub> cluster_;
};

// "jobs/a" from "a" or "jobs/a"; workers likewise. INVALID_ARGUMENT: cannot be a name.
absl::StatusOr<std::string> JobArgument(const std::string& text);
absl::StatusOr<std::string> WorkerArgument(const std::string& text);

}  // namespace sdp::cli
