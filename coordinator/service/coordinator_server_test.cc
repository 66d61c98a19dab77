// The whole coordinator over real gRPC, with workers that only speak the protocol.
#include "coordinator/service/coordinator_server.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/rpc/options.h"
#include "common/wire/wire.h"
#include "coordinator/service/testing.h"
#include "grpcpp/generic/generic_stub.h"
#include "gtest/gtest.h"

namespace sdp::coordinator {
namespace {

using Case = v1::ConnectResponse::MessageCase;

// Registers and waits for the Welcome.
std::unique_ptr<FakeWorker> Join(const TestServer& server, const std::string& name,
                                 uint64_t incarnation = 1) {
  auto worker = std::make_unique<FakeWorker>(server, name, incarnation);
  EXPECT_TRUE(worker->Await(Case::kWelcome));
  return worker;
}

// Brings a job of two workers to training.
void StartTraining(FakeWorker& a, FakeWorker& b) {
  for (FakeWorker* worker : {&a, &b}) {
    ASSERT_TRUE(worker->Await(Case::kAssignment));
    worker->Report(v1::ASSIGNMENT_PHASE_PREPARING);
    worker->Report(v1::ASSIGNMENT_PHASE_READY);
  }
  for (FakeWorker* worker : {&a, &b}) {
    ASSERT_TRUE(worker->Await(Case::kStart));
    worker->Report(v1::ASSIGNMENT_PHASE_RUNNING);
  }
}

std::vector<int64_t> Sequences(const std::vector<v1::WatchJobResponse>& messages) {
  std::vector<int64_t> sequences;
  for (const auto& message : messages) {
    if (message.has_event()) sequences.push_back(message.event().sequence());
  }
  return sequences;
}

std::vector<int64_t> Range(int64_t first, int64_t last) {
  std::vector<int64_t> numbers;
  for (int64_t number = first; number <= last; ++number) numbers.push_back(number);
  return numbers;
}

// Calls a method whose proto this repository does not have: sends the bytes, returns those of the first
// answer.
std::string CallRaw(const TestServer& server, const std::string& method, const std::string& request) {
  grpc::GenericStub stub(server.NewChannel());
  grpc::ClientContext context;
  SetDeadline(context);
  grpc::CompletionQueue queue;
  void* tag = nullptr;
  bool ok = false;
  const auto call = stub.PrepareCall(&context, method, &queue);
  call->StartCall(&tag);
  EXPECT_TRUE(queue.Next(&tag, &ok) && ok);
  grpc::Slice slice(request);
  call->Write(grpc::ByteBuffer(&slice, 1), &tag);
  EXPECT_TRUE(queue.Next(&tag, &ok) && ok);
  grpc::ByteBuffer answer;
  call->Read(&answer, &tag);
  EXPECT_TRUE(queue.Next(&tag, &ok) && ok);
  EXPECT_TRUE(answer.DumpToSingleSlice(&slice).ok());
  context.TryCancel();
  grpc::Status status;
  call->Finish(&status, &tag);
  EXPECT_TRUE(queue.Next(&tag, &ok));
  return std::string(reinterpret_cast<const char*>(slice.begin()), slice.size());
}

TEST(CoordinatorServerTest, SaysThatItServesAndWhat) {
  TestServer server;
  // HealthCheckResponse{status: SERVING}.
  EXPECT_EQ(CallRaw(server, "/grpc.health.v1.Health/Check", ""), std::string("\x08\x01"));
  // ServerReflectionRequest{list_services: ""}.
  const std::string services = CallRaw(
      server, "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo", std::string("\x3a\x00", 2));
  for (const char* name : {"sdp.v1.JobService", "sdp.v1.PlanService", "sdp.v1.ClusterService",
                           "sdp.v1.WorkerService", "grpc.health.v1.Health"}) {
    EXPECT_TRUE(absl::StrContains(services, name)) << name;
  }
}

TEST(CoordinatorServerTest, RunsAJobFromSubmissionToExport) {
  TestServer server;
  const std::string job = server.CreateJob(/*workers=*/2, /*steps=*/4);
  Watcher watcher(server, job);
  EXPECT_TRUE(watcher.AwaitEvent(v1::JOB_EVENT_KIND_WAITING));
  auto a = Join(server, "a");
  auto b = Join(server, "b");

  ASSERT_TRUE(a->Await(Case::kAssignment));
  ASSERT_TRUE(b->Await(Case::kAssignment));
  EXPECT_EQ(a->assignment().id().job(), job);
  EXPECT_EQ(a->assignment().id().epoch(), 1);
  EXPECT_EQ(a->assignment().rank(), 0);
  EXPECT_EQ(b->assignment().rank(), 1);
  EXPECT_EQ(b->assignment().plan().members(1).worker(), "b");
  EXPECT_EQ(b->assignment().spec().stop().steps(), 4);
  EXPECT_EQ(b->assignment().prepare_seconds(), 120);

  a->SendAddress("address of a");
  b->Report(v1::ASSIGNMENT_PHASE_PREPARING);
  v1::ConnectResponse relayed;
  ASSERT_TRUE(b->Await(Case::kRendezvous, &relayed));
  EXPECT_EQ(relayed.rendezvous().rank(), 0);
  EXPECT_EQ(relayed.rendezvous().address(), "address of a");

  a->Report(v1::ASSIGNMENT_PHASE_READY);
  b->Report(v1::ASSIGNMENT_PHASE_READY);
  ASSERT_TRUE(a->Await(Case::kStart));
  ASSERT_TRUE(b->Await(Case::kStart));
  a->ReportSteps(2, 3.5);
  ASSERT_TRUE(server.TickUntil([&] { return server.GetJob(job).progress().step() == 2; }));
  ASSERT_TRUE(server.TickUntil([&] {
    const auto messages = watcher.messages();
    return !messages.empty() && messages.back().has_progress();
  }));
  EXPECT_DOUBLE_EQ(server.GetJob(job).progress().loss(), 3.5);
  a->ReportSteps(4, 3.0);
  b->ReportSteps(4, 3.0);
  a->ReportEvaluation(4, 3.1);
  b->ReportEvaluation(4, 3.1);
  EXPECT_TRUE(watcher.AwaitEvent(v1::JOB_EVENT_KIND_EVALUATED));
  a->Report(v1::ASSIGNMENT_PHASE_FINISHED);
  b->Report(v1::ASSIGNMENT_PHASE_FINISHED);

  EXPECT_TRUE(watcher.AwaitEnd().ok());
  const auto messages = watcher.messages();
  ASSERT_TRUE(messages.back().has_final_job());
  const v1::Job& ended = messages.back().final_job();
  EXPECT_EQ(ended.state(), v1::JOB_STATE_SUCCEEDED);
  EXPECT_EQ(ended.exported_files_size(), 2);
  EXPECT_EQ(ended.progress().tokens(), 4 * 128);
  EXPECT_DOUBLE_EQ(ended.evaluation().full_loss(), 3.1);
  EXPECT_EQ(ended.evaluation().subnetwork_losses_size(), 2);
  EXPECT_TRUE(ended.has_start_time());
  EXPECT_TRUE(ended.has_end_time());
  const std::vector<int64_t> sequences = Sequences(messages);
  EXPECT_EQ(sequences, Range(1, static_cast<int64_t>(sequences.size())));
  EXPECT_EQ(server.StateOf("a"), v1::WORKER_STATE_IDLE);

  // What watchers were told is what is stored.
  const auto stored = server.store().Load();
  ASSERT_TRUE(stored.ok());
  EXPECT_EQ((*stored)[0].job.state, JobState::kSucceeded);
  EXPECT_EQ((*stored)[0].events.size(), sequences.size());
}

TEST(CoordinatorServerTest, WorkersTakeTheNextJobAfterOneFails) {
  TestServer server;
  auto a = Join(server, "a");
  auto b = Join(server, "b");
  const std::string first = server.CreateJob(2, 10);
  const std::string second = server.CreateJob(1, 10);
  StartTraining(*a, *b);
  a->ReportSteps(3, 2.0);
  ASSERT_TRUE(server.TickUntil([&] { return server.GetJob(first).progress().step() == 3; }));
  b->Die();
  v1::ConnectResponse abort;
  ASSERT_TRUE(server.TickUntil([&] { return server.GetJob(first).state() == v1::JOB_STATE_FAILING; }));
  ASSERT_TRUE(a->Await(Case::kAbort, &abort));
  EXPECT_TRUE(absl::StrContains(abort.abort().reason(), "worker b was lost at step 3 of 10"))
      << abort.abort().reason();
  a->Report(v1::ASSIGNMENT_PHASE_ABORTED);
  ASSERT_TRUE(a->Await(Case::kAssignment));
  EXPECT_EQ(a->assignment().id().job(), second);
  EXPECT_EQ(server.GetJob(first).state(), v1::JOB_STATE_FAILED);
  EXPECT_EQ(server.GetJob(first).state_reason(), abort.abort().reason());
  EXPECT_EQ(server.StateOf("b"), v1::WORKER_STATE_LOST);
}

TEST(CoordinatorServerTest, AWorkerThatFallsSilentIsLost) {
  TestServer server;
  auto a = Join(server, "a");
  server.Advance(absl::Seconds(4.9));
  EXPECT_EQ(server.StateOf("a"), v1::WORKER_STATE_IDLE);
  v1::ConnectRequest heartbeat;
  heartbeat.mutable_heartbeat()->set_resident_bytes(123);
  a->Send(heartbeat);
  const auto resident = [&] {
    v1::GetWorkerRequest request;
    request.set_name("workers/a");
    v1::GetWorkerResponse response;
    grpc::ClientContext context;
    EXPECT_TRUE(server.cluster().GetWorker(&context, request, &response).ok());
    return response.worker().resident_bytes();
  };
  const absl::Time deadline = absl::Now() + kPatience;
  while (resident() != 123 && absl::Now() < deadline) {
  }
  server.Advance(absl::Seconds(4.9));
  EXPECT_EQ(server.StateOf("a"), v1::WORKER_STATE_IDLE);
  server.Advance(absl::Seconds(0.2));
  const grpc::Status status = a->AwaitEnd();
  EXPECT_EQ(status.error_code(), grpc::StatusCode::UNAVAILABLE);
  EXPECT_TRUE(absl::StrContains(status.error_message(), "no heartbeat")) << status.error_message();
  EXPECT_EQ(server.StateOf("a"), v1::WORKER_STATE_LOST);
}

TEST(CoordinatorServerTest, CancelsARunningJob) {
  TestServer server;
  auto a = Join(server, "a");
  auto b = Join(server, "b");
  const std::string job = server.CreateJob(2, 10);
  StartTraining(*a, *b);
  v1::CancelJobRequest request;
  request.set_name(job);
  for (int i = 0; i < 2; ++i) {
    v1::CancelJobResponse response;
    grpc::ClientContext context;
    ASSERT_TRUE(server.jobs().CancelJob(&context, request, &response).ok());
    EXPECT_EQ(response.job().state(), v1::JOB_STATE_CANCELLING);
  }
  for (FakeWorker* worker : {a.get(), b.get()}) {
    ASSERT_TRUE(worker->Await(Case::kAbort));
    worker->Report(v1::ASSIGNMENT_PHASE_ABORTED);
  }
  EXPECT_TRUE(Watcher(server, job).AwaitEnd().ok());
  EXPECT_EQ(server.GetJob(job).state(), v1::JOB_STATE_CANCELLED);
}

TEST(CoordinatorServerTest, RefusesRegistrationsThatCannotWork) {
  TestServer server;
  const auto refusal = [&](v1::Register registration) {
    return FakeWorker(server, std::move(registration)).AwaitEnd();
  };
  v1::Register registration = FakeWorker::Registration("a");
  registration.set_protocol_version(kProtocolVersion + 1);
  grpc::Status status = refusal(registration);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::FAILED_PRECONDITION);
  EXPECT_TRUE(absl::StrContains(status.error_message(), absl::StrCat("version ", kProtocolVersion + 1)));
  EXPECT_TRUE(absl::StrContains(status.error_message(), absl::StrCat("version ", kProtocolVersion, ";")));

  for (const std::string name : {"", "a b", "a/b"}) {
    EXPECT_EQ(refusal(FakeWorker::Registration(name)).error_code(), grpc::StatusCode::INVALID_ARGUMENT)
        << name;
  }
  for (const std::string address :
       {"", "0.0.0.0", "::", "[::]:5000", "0.0.0.0:5000", "host:0", "[::1]:0", "*"}) {
    registration = FakeWorker::Registration("a");
    registration.set_data_plane_address(address);
    EXPECT_EQ(refusal(registration).error_code(), grpc::StatusCode::INVALID_ARGUMENT) << address;
  }
  for (const std::string address : {"host", "host:5000", "10.0.0.1", "::1", "fe80::1:0", "[::1]:5000"}) {
    registration = FakeWorker::Registration("a");
    registration.set_data_plane_address(address);
    EXPECT_TRUE(FakeWorker(server, registration).Await(Case::kWelcome)) << address;
    ASSERT_TRUE(server.TickUntil([&] { return server.StateOf("a") == v1::WORKER_STATE_LOST; }));
  }
}

TEST(CoordinatorServerTest, TheFirstMessageMustBeRegister) {
  TestServer server;
  const auto stub = v1::WorkerService::NewStub(server.NewChannel());
  grpc::ClientContext context;
  const auto stream = stub->Connect(&context);
  v1::ConnectRequest request;
  request.mutable_heartbeat();
  ASSERT_TRUE(stream->Write(request));
  v1::ConnectResponse response;
  EXPECT_FALSE(stream->Read(&response));
  EXPECT_EQ(stream->Finish().error_code(), grpc::StatusCode::INVALID_ARGUMENT);
}

TEST(CoordinatorServerTest, TwoWorkersWithOneName) {
  TestServer server;
  auto first = Join(server, "a", 1);
  FakeWorker second(server, "a", 2);
  const grpc::Status status = second.AwaitEnd();
  EXPECT_EQ(status.error_code(), grpc::StatusCode::ALREADY_EXISTS);
  EXPECT_TRUE(absl::StrContains(status.error_message(), "incarnation 1")) << status.error_message();
  EXPECT_TRUE(absl::StrContains(status.error_message(), "incarnation 2")) << status.error_message();
  first->Die();
  ASSERT_TRUE(server.TickUntil([&] { return server.StateOf("a") == v1::WORKER_STATE_LOST; }));
  Join(server, "a", 2);
}

TEST(CoordinatorServerTest, AWorkerLeavesAndItsStreamEnds) {
  TestServer server;
  auto a = Join(server, "a");
  v1::ConnectRequest leave;
  leave.mutable_leave()->set_reason("SIGTERM");
  a->Send(leave);
  EXPECT_TRUE(a->AwaitEnd().ok());
  EXPECT_EQ(server.StateOf("a"), v1::WORKER_STATE_LOST);
}

TEST(CoordinatorServerTest, ShutdownEndsEverythingWithUnavailable) {
  TestServer server;
  auto a = Join(server, "a");
  const std::string job = server.CreateJob(2, 10);
  Watcher watcher(server, job);
  ASSERT_TRUE(watcher.AwaitEvent(v1::JOB_EVENT_KIND_WAITING));
  server.server().Shutdown();
  EXPECT_EQ(watcher.AwaitEnd().error_code(), grpc::StatusCode::UNAVAILABLE);
  EXPECT_EQ(a->AwaitEnd().error_code(), grpc::StatusCode::UNAVAILABLE);
  // Nobody was lost and no job changed because of it.
  const auto stored = server.store().Load();
  ASSERT_TRUE(stored.ok());
  EXPECT_EQ((*stored)[0].job.state_reason, "waits for 2 workers, 1 is free: a");
}

TEST(CoordinatorServerTest, APortThatIsTakenIsAClearError) {
  TestServer server;
  ManualClock clock;
  MemoryJobStore store;
  Registry registry;
  ServerOptions options;
  options.listen = absl::StrCat("127.0.0.1:", server.server().port());
  options.planner = [](const JobSpec&, std::vector<PlanMember>, Epoch, int64_t) -> absl::StatusOr<Plan> {
    return absl::UnimplementedError("");
  };
  options.clock = &clock;
  options.store = &store;
  options.registry = &registry;
  const auto second = CoordinatorServer::Start(std::move(options));
  ASSERT_FALSE(second.ok());
  EXPECT_EQ(second.status().code(), absl::StatusCode::kUnavailable);
  EXPECT_TRUE(absl::StrContains(second.status().message(), "the port is taken")) << second.status();
}

TEST(CoordinatorServerTest, MetricsFollowTheJobAndGoWithIt) {
  TestServer server;
  auto a = Join(server, "a");
  auto b = Join(server, "b");
  const std::string job = server.CreateJob(2, 10);
  StartTraining(*a, *b);
  a->ReportSteps(3, 2.25);
  ASSERT_TRUE(server.TickUntil([&] { return server.GetJob(job).progress().step() == 3; }));
  server.Advance(absl::ZeroDuration());
  const std::string label = absl::StrCat("{job_id=\"", job.substr(5), "\"}");
  const std::string text = server.registry().Text();
  for (const std::string& line :
       {absl::StrCat("sdp_job_loss", label, " 2.25"), absl::StrCat("sdp_job_steps_total", label, " 3"),
        absl::StrCat("sdp_job_tokens_total", label, " 384"),
        absl::StrCat("sdp_job_coverage_minimum", label, " 2"),
        absl::StrCat("sdp_job_tensor_peak_bytes", label, " 4096"),
        std::string("sdp_jobs{state=\"running\"} 1"), std::string("sdp_jobs{state=\"failed\"} 0"),
        std::string("sdp_workers{state=\"busy\"} 2")}) {
    EXPECT_TRUE(absl::StrContains(text, line)) << line << " is not in\n" << text;
  }
  EXPECT_TRUE(absl::StrContains(
      text, "sdp_rpc_duration_seconds_count{code=\"OK\",method=\"JobService/CreateJob\"} 1"))
      << text;
  a->Report(v1::ASSIGNMENT_PHASE_FINISHED);
  b->Report(v1::ASSIGNMENT_PHASE_FINISHED);
  EXPECT_TRUE(Watcher(server, job).AwaitEnd().ok());
  server.Advance(absl::ZeroDuration());
  EXPECT_FALSE(absl::StrContains(server.registry().Text(), "job_id"));
}

}  // namespace
}  // namespace sdp::coordinator
