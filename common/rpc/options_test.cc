// A real server and a real channel on loopback, both with the shared options.
#include "common/rpc/options.h"

#include <atomic>
#include <memory>
#include <string>

#include "common/rpc/status.h"
#include "grpcpp/server.h"
#include "gtest/gtest.h"
#include "sdp/v1/cluster_service.grpc.pb.h"
#include "sdp/v1/job_service.grpc.pb.h"
#include "sdp/v1/worker_service.grpc.pb.h"

namespace sdp {
namespace {

class FakeJobs : public v1::JobService::Service {
 public:
  grpc::Status GetJob(grpc::ServerContext*, const v1::GetJobRequest*, v1::GetJobResponse*) override {
    const int call = ++calls;
    return ToGrpc(call <= failures ? failure : absl::OkStatus());
  }
  grpc::Status CreateJob(grpc::ServerContext*, const v1::CreateJobRequest*, v1::CreateJobResponse*) override {
    return grpc::Status::OK;
  }

  int failures = 0;
  absl::Status failure = absl::UnavailableError("starting");
  std::atomic<int> calls{0};
};

class FakeWorkers : public v1::WorkerService::Service {
 public:
  grpc::Status Connect(grpc::ServerContext*,
                       grpc::ServerReaderWriter<v1::ConnectResponse, v1::ConnectRequest>*) override {
    ++calls;
    return ToGrpc(absl::UnavailableError("starting"));
  }
  std::atomic<int> calls{0};
};

class Options : public testing::Test {
 protected:
  Options() {
    grpc::ServerBuilder builder;
    ApplyServerOptions(builder);
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port_);
    builder.RegisterService(&jobs_);
    builder.RegisterService(&workers_);
    server_ = builder.BuildAndStart();
    channel_ = MakeChannel("127.0.0.1:" + std::to_string(port_));
  }

  absl::Status GetJob() {
    grpc::ClientContext context;
    SetDeadline(context);
    v1::GetJobResponse response;
    return FromGrpc(v1::JobService::NewStub(channel_)->GetJob(&context, {}, &response));
  }

  int port_ = 0;
  FakeJobs jobs_;
  FakeWorkers workers_;
  std::unique_ptr<grpc::Server> server_;
  std::shared_ptr<grpc::Channel> channel_;
};

TEST_F(Options, RetriesOnUnavailable) {
  jobs_.failures = 2;
  EXPECT_TRUE(GetJob().ok());
  EXPECT_EQ(jobs_.calls, 3);
}

TEST_F(Options, RetriesNothingElse) {
  jobs_.failures = 1;
  jobs_.failure = absl::AbortedError("no");
  EXPECT_EQ(GetJob().code(), absl::StatusCode::kAborted);
  EXPECT_EQ(jobs_.calls, 1);
}

TEST_F(Options, WorkersStreamIsNotRetried) {
  grpc::ClientContext context;
  auto stream = v1::WorkerService::NewStub(channel_)->Connect(&context);
  v1::ConnectResponse response;
  EXPECT_FALSE(stream->Read(&response));
  EXPECT_EQ(FromGrpc(stream->Finish()).code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(workers_.calls, 1);
}

TEST_F(Options, MessagesAboveFourMebibytesAreRefused) {
  v1::CreateJobRequest request;
  request.mutable_spec()->set_display_name(std::string(5 << 20, 'x'));
  grpc::ClientContext context;
  SetDeadline(context);
  v1::CreateJobResponse response;
  EXPECT_EQ(FromGrpc(v1::JobService::NewStub(channel_)->CreateJob(&context, request, &response)).code(),
            absl::StatusCode::kResourceExhausted);
}

TEST_F(Options, ASecondServerCannotTakeThePort) {
  grpc::ServerBuilder builder;
  ApplyServerOptions(builder);
  int port = 0;
  builder.AddListeningPort("127.0.0.1:" + std::to_string(port_), grpc::InsecureServerCredentials(), &port);
  FakeJobs jobs;
  builder.RegisterService(&jobs);
  EXPECT_EQ(builder.BuildAndStart(), nullptr);
}

TEST_F(Options, NobodyThereIsUnavailableSoon) {
  server_->Shutdown();
  server_.reset();
  EXPECT_EQ(GetJob().code(), absl::StatusCode::kUnavailable);
}

}  // namespace
}  // namespace sdp
