// What people and programs ask for, over real gRPC.
#include "coordinator/service/job_service.h"

#include <set>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/rpc/options.h"
#include "common/rpc/status.h"
#include "common/wire/wire.h"
#include "coordinator/service/testing.h"
#include "coordinator/state/transcript.h"
#include "gtest/gtest.h"

namespace sdp::coordinator {
namespace {

using Case = v1::ConnectResponse::MessageCase;

class JobServiceTest : public testing::Test {
 protected:
  grpc::Status Create(const v1::CreateJobRequest& request, v1::Job* job = nullptr) {
    grpc::ClientContext context;
    SetDeadline(context);
    v1::CreateJobResponse response;
    const grpc::Status status = server_.jobs().CreateJob(&context, request, &response);
    if (job != nullptr) *job = response.job();
    return status;
  }
  grpc::Status List(int page_size, const std::string& token, v1::ListJobsResponse* response) {
    grpc::ClientContext context;
    SetDeadline(context);
    v1::ListJobsRequest request;
    request.set_page_size(page_size);
    request.set_page_token(token);
    response->Clear();
    return server_.jobs().ListJobs(&context, request, response);
  }
  grpc::Status ListWorkers(int page_size, const std::string& token, v1::ListWorkersResponse* response) {
    grpc::ClientContext context;
    SetDeadline(context);
    v1::ListWorkersRequest request;
    request.set_page_size(page_size);
    request.set_page_token(token);
    response->Clear();
    return server_.cluster().ListWorkers(&context, request, response);
  }
  int Jobs() {
    v1::ListJobsResponse response;
    EXPECT_TRUE(List(1000, "", &response).ok());
    return response.jobs_size();
  }

  TestServer server_;
};

TEST_F(JobServiceTest, CreatedJobsHaveDefaultsFilledInAndNamesThatSayWhatTheyAre) {
  v1::CreateJobRequest request;
  *request.mutable_spec() = TestSpec(2, 5);
  v1::Job job;
  ASSERT_TRUE(Create(request, &job).ok());
  EXPECT_TRUE(absl::StartsWith(job.name(), "jobs/test-")) << job.name();
  EXPECT_EQ(job.state(), v1::JOB_STATE_QUEUED);
  EXPECT_EQ(job.state_reason(), "waits for 2 workers, none is free");
  EXPECT_EQ(job.spec().model().llama().rope_theta(), 10000);
  EXPECT_EQ(job.create_time().seconds(), 1000000);
  EXPECT_EQ(server_.GetJob(job.name()).name(), job.name());
}

TEST_F(JobServiceTest, EveryProblemOfASpecIsReported) {
  v1::CreateJobRequest request;
  *request.mutable_spec() = TestSpec(2, 5);
  request.mutable_spec()->mutable_model()->mutable_llama()->set_heads(3);
  request.mutable_spec()->clear_output_directory();
  const grpc::Status status = Create(request);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_TRUE(absl::StrContains(status.error_message(), "model.llama")) << status.error_message();
  EXPECT_TRUE(absl::StrContains(status.error_message(), "output_directory")) << status.error_message();
  EXPECT_EQ(Jobs(), 0);
}

TEST_F(JobServiceTest, ValidateOnlyCreatesNothing) {
  v1::CreateJobRequest request;
  *request.mutable_spec() = TestSpec(2, 5);
  request.set_validate_only(true);
  request.set_request_id("6f0e8f2e-0000-4000-8000-000000000001");
  v1::Job job;
  ASSERT_TRUE(Create(request, &job).ok());
  EXPECT_EQ(job.name(), "");
  EXPECT_EQ(job.spec().model().llama().kv_heads(), 2);
  EXPECT_EQ(Jobs(), 0);
  request.mutable_spec()->clear_stop();
  EXPECT_EQ(Create(request).error_code(), grpc::StatusCode::INVALID_ARGUMENT);
}

TEST_F(JobServiceTest, ARepeatedRequestIdGivesTheFirstJob) {
  v1::CreateJobRequest request;
  *request.mutable_spec() = TestSpec(2, 5);
  request.set_request_id("6f0e8f2e-0000-4000-8000-000000000001");
  v1::Job first, second;
  ASSERT_TRUE(Create(request, &first).ok());
  // A default written out is the same spec.
  request.mutable_spec()->mutable_model()->mutable_llama()->set_rope_theta(10000);
  ASSERT_TRUE(Create(request, &second).ok());
  EXPECT_EQ(first.name(), second.name());
  EXPECT_EQ(Jobs(), 1);
  request.mutable_spec()->mutable_stop()->set_steps(6);
  const grpc::Status status = Create(request);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_TRUE(absl::StrContains(status.error_message(), first.name())) << status.error_message();
  request.set_request_id(std::string(65, 'x'));
  EXPECT_EQ(Create(request).error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(Jobs(), 1);
}

TEST_F(JobServiceTest, UnknownAndMalformedNames) {
  const std::pair<std::string, grpc::StatusCode> cases[] = {{"jobs/none", grpc::StatusCode::NOT_FOUND},
                                                            {"none", grpc::StatusCode::INVALID_ARGUMENT},
                                                            {"", grpc::StatusCode::INVALID_ARGUMENT}};
  for (const auto& [name, code] : cases) {
    grpc::ClientContext get_context, cancel_context;
    v1::GetJobRequest get;
    get.set_name(name);
    v1::GetJobResponse got;
    EXPECT_EQ(server_.jobs().GetJob(&get_context, get, &got).error_code(), code) << name;
    v1::CancelJobRequest cancel;
    cancel.set_name(name);
    v1::CancelJobResponse cancelled;
    EXPECT_EQ(server_.jobs().CancelJob(&cancel_context, cancel, &cancelled).error_code(), code) << name;
    EXPECT_EQ(Watcher(server_, name).AwaitEnd().error_code(), code) << name;
  }
  EXPECT_EQ(Watcher(server_, "jobs/none", -1).AwaitEnd().error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  grpc::ClientContext context;
  v1::GetWorkerRequest request;
  request.set_name("workers/none");
  v1::GetWorkerResponse response;
  EXPECT_EQ(server_.cluster().GetWorker(&context, request, &response).error_code(),
            grpc::StatusCode::NOT_FOUND);
}

TEST_F(JobServiceTest, PagesHoldEveryJobOnceNewestFirst) {
  std::vector<std::string> created;
  for (int i = 0; i < 7; ++i) created.insert(created.begin(), server_.CreateJob(1, 5));
  for (int page_size : {1, 2, 3, 7, 100}) {
    std::vector<std::string> listed;
    v1::ListJobsResponse response;
    std::string token;
    do {
      ASSERT_TRUE(List(page_size, token, &response).ok());
      EXPECT_LE(response.jobs_size(), page_size);
      for (const v1::Job& job : response.jobs()) listed.push_back(job.name());
      token = response.next_page_token();
      // A job that comes meanwhile disturbs nothing; it belongs on a page that has been shown.
      if (page_size == 3 && listed.size() == 3) created.insert(created.begin(), server_.CreateJob(1, 5));
    } while (!token.empty());
    if (page_size == 3) listed.insert(listed.begin(), created.front());
    EXPECT_EQ(listed, created) << "page size " << page_size;
  }
  v1::ListJobsResponse response;
  EXPECT_EQ(List(-1, "", &response).error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(List(5, "nonsense", &response).error_code(), grpc::StatusCode::INVALID_ARGUMENT);
}

TEST_F(JobServiceTest, PagesOfWorkersAreByName) {
  std::vector<std::unique_ptr<FakeWorker>> workers;
  for (const char* name : {"c", "a", "b"}) {
    workers.push_back(std::make_unique<FakeWorker>(server_, name));
    ASSERT_TRUE(workers.back()->Await(Case::kWelcome));
  }
  v1::ListWorkersResponse response;
  ASSERT_TRUE(ListWorkers(2, "", &response).ok());
  ASSERT_EQ(response.workers_size(), 2);
  EXPECT_EQ(response.workers(0).name(), "workers/a");
  EXPECT_EQ(response.workers(0).state(), v1::WORKER_STATE_IDLE);
  EXPECT_EQ(response.workers(0).capacity().device(), "cpu");
  ASSERT_TRUE(ListWorkers(2, response.next_page_token(), &response).ok());
  ASSERT_EQ(response.workers_size(), 1);
  EXPECT_EQ(response.workers(0).name(), "workers/c");
  EXPECT_EQ(response.next_page_token(), "");
  v1::ListJobsResponse jobs;
  EXPECT_EQ(List(5, "d29ya2VyczphCg==", &jobs).error_code(), grpc::StatusCode::INVALID_ARGUMENT);
}

TEST_F(JobServiceTest, AWatchGoesOnWhereTheLastOneEnded) {
  const std::string job = server_.CreateJob(2, 5);
  Watcher first(server_, job);
  ASSERT_TRUE(first.AwaitEvent(v1::JOB_EVENT_KIND_WAITING));
  FakeWorker a(server_, "a");
  ASSERT_TRUE(a.Await(Case::kWelcome));
  v1::CancelJobRequest request;
  request.set_name(job);
  v1::CancelJobResponse response;
  grpc::ClientContext context;
  ASSERT_TRUE(server_.jobs().CancelJob(&context, request, &response).ok());
  EXPECT_TRUE(first.AwaitEnd().ok());
  std::vector<int64_t> all;
  for (const auto& message : first.messages()) {
    if (message.has_event()) all.push_back(message.event().sequence());
  }
  EXPECT_EQ(all, (std::vector<int64_t>{1, 2, 3, 4}));
  // A watch of an ended job tells everything from there, and ends.
  for (int64_t after : {0, 2, 4, 100}) {
    Watcher later(server_, job, after);
    EXPECT_TRUE(later.AwaitEnd().ok());
    const auto messages = later.messages();
    ASSERT_EQ(messages.size(), static_cast<size_t>(std::max<int64_t>(4 - after, 0) + 1));
    if (after < 4) {
      EXPECT_EQ(messages[0].event().sequence(), after + 1);
    }
    EXPECT_EQ(messages.back().final_job().state(), v1::JOB_STATE_CANCELLED);
  }
}

TEST_F(JobServiceTest, AWatcherThatNeverReadsHoldsUpNobody) {
  FakeWorker a(server_, "a");
  ASSERT_TRUE(a.Await(Case::kWelcome));
  const std::string job = server_.CreateJob(1, 1000000);
  const auto stub = v1::JobService::NewStub(server_.NewChannel());
  grpc::ClientContext context;
  v1::WatchJobRequest request;
  request.set_name(job);
  const auto stuck = stub->WatchJob(&context, request);  // nobody reads it
  Watcher watcher(server_, job);
  ASSERT_TRUE(a.Await(Case::kAssignment));
  a.Report(v1::ASSIGNMENT_PHASE_READY);
  ASSERT_TRUE(a.Await(Case::kStart));
  // More than any window of flow control holds.
  for (int64_t step = 1; step <= 2000; ++step) a.ReportEvaluation(step, 2.0);
  a.Report(v1::ASSIGNMENT_PHASE_FINISHED);
  EXPECT_TRUE(watcher.AwaitEnd().ok());
  int64_t evaluations = 0, last = 0;
  for (const auto& message : watcher.messages()) {
    if (!message.has_event()) continue;
    EXPECT_EQ(message.event().sequence(), ++last);
    evaluations += message.event().kind() == v1::JOB_EVENT_KIND_EVALUATED ? 1 : 0;
  }
  EXPECT_EQ(evaluations, 2000);
  context.TryCancel();
}

TEST_F(JobServiceTest, ProgressIsConflated) {
  FakeWorker a(server_, "a");
  ASSERT_TRUE(a.Await(Case::kWelcome));
  const std::string job = server_.CreateJob(1, 1000);
  Watcher watcher(server_, job);
  ASSERT_TRUE(a.Await(Case::kAssignment));
  a.Report(v1::ASSIGNMENT_PHASE_READY);
  ASSERT_TRUE(a.Await(Case::kStart));
  for (int64_t step = 1; step <= 500; ++step) a.ReportSteps(step, 2.0);
  ASSERT_TRUE(server_.TickUntil([&] { return server_.GetJob(job).progress().step() == 500; }));
  server_.Advance(kProgressInterval);
  ASSERT_TRUE(server_.TickUntil([&] {
    const auto messages = watcher.messages();
    return !messages.empty() && messages.back().has_progress() && messages.back().progress().step() == 500;
  }));
  // The clock stood almost still: far fewer messages than reports.
  int progress = 0;
  for (const auto& message : watcher.messages()) progress += message.has_progress() ? 1 : 0;
  EXPECT_LT(progress, 100);
}

TEST(NewJobIdTest, IsAValidNameAndNeverTheSame) {
  std::set<JobId> ids;
  for (const std::string& name : {std::string("j"), std::string(63, 'x')}) {
    for (int i = 0; i < 100; ++i) {
      const JobId id = NewJobId(name);
      EXPECT_EQ(NameProblem(id.value()), "") << id;
      EXPECT_TRUE(ids.insert(id).second) << id;
    }
  }
}

}  // namespace
}  // namespace sdp::coordinator
