#include "worker/agent/worker_stream.h"

#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/notification.h"
#include "common/rpc/options.h"

namespace sdp {
namespace {

// Refuses every worker at once.
class RefusingService : public v1::WorkerService::Service {
  grpc::Status Connect(grpc::ServerContext*,
                       grpc::ServerReaderWriter<v1::ConnectResponse, v1::ConnectRequest>*) override {
    return grpc::Status(grpc::StatusCode::ALREADY_EXISTS, "the name is taken");
  }
};

// Whoever sends at the very moment in which the stream ends must not touch the call any more: from the
// callback, where the call is gone for certain.
TEST(WorkerStreamTest, EndsWhileItIsUsed) {
  RefusingService service;
  int port = 0;
  grpc::ServerBuilder builder;
  builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
  builder.RegisterService(&service);
  const std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
  ASSERT_NE(server, nullptr);
  absl::Notification made, ended;
  absl::Status status;
  WorkerStream* self = nullptr;
  WorkerStream stream(
      MakeChannel(absl::StrCat("127.0.0.1:", port)), v1::ConnectRequest(), [](const v1::ConnectResponse&) {},
      [&](absl::Status end) {
        made.WaitForNotification();
        self->Send(v1::ConnectRequest());
        status = std::move(end);
        ended.Notify();
      });
  self = &stream;
  made.Notify();
  ended.WaitForNotification();
  stream.CloseAndWait(absl::Seconds(10));
  EXPECT_EQ(status.code(), absl::StatusCode::kAlreadyExists) << status;
}

TEST(WorkerStreamTest, ACoordinatorThatIsNotThereIsUnavailable) {
  absl::Notification ended;
  absl::Status status;
  WorkerStream stream(
      MakeChannel("127.0.0.1:1"), v1::ConnectRequest(), [](const v1::ConnectResponse&) {},
      [&](absl::Status end) {
        status = std::move(end);
        ended.Notify();
      });
  ended.WaitForNotification();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable) << status;
}

}  // namespace
}  // namespace sdp
