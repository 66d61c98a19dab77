#include <limits>
#include <string>
#include <vector>

#include "common/rpc/options.h"
#include "common/wire/wire.h"
#include "coordinator/service/plan_translate.h"
#include "coordinator/service/testing.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace sdp::coordinator {
namespace {

using ::testing::HasSubstr;

class PlanServiceTest : public testing::Test {
 protected:
  PlanServiceTest() {
    *request_.mutable_spec() = TestSpec(3, 50);
    request_.mutable_spec()->mutable_model()->mutable_llama()->set_layers(8);
    request_.mutable_spec()->mutable_batch()->set_global_sequences(64);
  }

  grpc::Status Ask() {
    grpc::ClientContext context;
    SetDeadline(context);
    response_.Clear();
    return server_.plans().PlanJob(&context, request_, &response_);
  }

  void ExpectRefused(grpc::StatusCode code, const std::string& complaint) {
    const grpc::Status status = Ask();
    EXPECT_EQ(status.error_code(), code) << status.error_message();
    EXPECT_THAT(status.error_message(), HasSubstr(complaint));
  }

  TestServer server_;
  v1::PlanJobRequest request_;
  v1::PlanJobResponse response_;
};

TEST_F(PlanServiceTest, PlansForTheSpecsWorkersOrForSoMany) {
  ASSERT_TRUE(Ask().ok());
  ASSERT_EQ(response_.plan().members_size(), 3);
  EXPECT_EQ(response_.plan().members(2).worker(), "worker-2");
  request_.set_workers(5);
  ASSERT_TRUE(Ask().ok());
  EXPECT_EQ(response_.plan().members_size(), 5);
}

// The spec's own number of workers is not what is asked.
TEST_F(PlanServiceTest, RatiosBelowOneHolderOfTheSpecsWorkersArePossibleForMore) {
  request_.mutable_spec()->mutable_masking()->set_active_ratio(0.25);
  ExpectRefused(grpc::StatusCode::INVALID_ARGUMENT, "masking.active_ratio: is 0.25; must be at least 1/3");
  request_.set_workers(8);
  const grpc::Status status = Ask();
  EXPECT_TRUE(status.ok()) << status.error_message();
}

TEST_F(PlanServiceTest, RefusesWithReasons) {
  for (int workers : {-1, kMaxPlannedWorkers + 1, std::numeric_limits<int>::max()}) {
    request_.set_workers(workers);
    ExpectRefused(grpc::StatusCode::INVALID_ARGUMENT, "workers: is");
  }
  request_.set_workers(65);
  ExpectRefused(grpc::StatusCode::INVALID_ARGUMENT, "batch.global_sequences: is 64; must be at least 65");
  request_.set_workers(2);
  request_.set_live_workers(true);
  ExpectRefused(grpc::StatusCode::INVALID_ARGUMENT, "only one of workers");
  request_.set_live_workers(false);
  request_.mutable_spec()->clear_stop();
  ExpectRefused(grpc::StatusCode::INVALID_ARGUMENT, "stop");
}

TEST_F(PlanServiceTest, NamesEveryFieldThatIsWrong) {
  request_.add_worker_groups()->set_count(-2);
  request_.mutable_worker_groups(0)->set_relative_speed(-1);
  request_.mutable_device()->set_flops_per_second(-1);
  request_.mutable_device()->set_link_bytes_per_second(5e-324);
  request_.set_fit_memory_bytes(-1);
  request_.add_compare(static_cast<v1::MaskGenerator>(77));
  request_.add_compare(v1::MASK_GENERATOR_FULL);
  request_.add_compare(v1::MASK_GENERATOR_FULL);
  request_.set_redraw_every_steps(-1);
  request_.set_change_to_workers(-1);
  const std::string text = Ask().error_message();
  for (const char* field :
       {"worker_groups[0].count", "worker_groups[0].relative_speed", "device.flops_per_second",
        "device.link_bytes_per_second", "fit_memory_bytes", "compare[0]", "compare[2]: is there already",
        "redraw_every_steps", "change_to_workers"}) {
    EXPECT_THAT(text, HasSubstr(field));
  }
}

TEST_F(PlanServiceTest, PlansForGroupsOfWorkers) {
  v1::WorkerGroup* fast = request_.add_worker_groups();
  fast->set_count(2);
  fast->set_relative_speed(2);
  request_.add_worker_groups()->set_count(1);
  request_.mutable_worker_groups(1)->set_memory_budget_bytes(int64_t{1} << 40);
  ASSERT_TRUE(Ask().ok());
  ASSERT_EQ(response_.plan().members_size(), 3);
  EXPECT_EQ(response_.plan().summary().workers(0).relative_speed(), 2);
  EXPECT_EQ(response_.plan().summary().workers(2).memory_budget_bytes(), int64_t{1} << 40);
  EXPECT_GT(response_.plan().members(0).sequences(), response_.plan().members(2).sequences());
}

TEST_F(PlanServiceTest, PlansForLiveWorkers) {
  request_.set_live_workers(true);
  ExpectRefused(grpc::StatusCode::FAILED_PRECONDITION, "the job needs 3 workers (workers.min), and 0 are");
  FakeWorker a(server_, "a"), b(server_, "b"), c(server_, "c"), d(server_, "d");
  for (FakeWorker* worker : {&a, &b, &c, &d}) {
    ASSERT_TRUE(worker->Await(v1::ConnectResponse::kWelcome));
  }
  const grpc::Status status = Ask();
  ASSERT_TRUE(status.ok()) << status.error_message();
  ASSERT_EQ(response_.plan().members_size(), 3);
  EXPECT_EQ(response_.plan().members(2).worker(), "c");
  EXPECT_EQ(response_.plan().summary().workers(0).memory_budget_bytes(), 1 << 30);
}

TEST_F(PlanServiceTest, AnswersEverythingAtOnce) {
  request_.set_workers(8);
  request_.mutable_spec()->mutable_masking()->set_active_ratio(0.5);
  request_.add_compare(v1::MASK_GENERATOR_FULL);
  request_.add_compare(v1::MASK_GENERATOR_EXPLICIT);
  request_.set_redraw_every_steps(25);
  request_.set_change_to_workers(9);
  request_.set_fit_memory_bytes(int64_t{1} << 40);
  request_.mutable_device()->set_flops_per_second(1e9);
  request_.mutable_device()->set_nccl(true);
  const grpc::Status status = Ask();
  ASSERT_TRUE(status.ok()) << status.error_message();
  ASSERT_EQ(response_.fits_size(), 1);  // everything fits
  EXPECT_TRUE(response_.fits(0).fits());
  EXPECT_EQ(response_.fits(0).active_ratio(), 1);
  ASSERT_EQ(response_.compared_size(), 2);
  EXPECT_EQ(response_.compared(0).generator(), v1::MASK_GENERATOR_FULL);
  EXPECT_EQ(response_.compared(0).plan().summary().spectral_gap(), 1);
  EXPECT_FALSE(response_.compared(1).has_plan());
  EXPECT_THAT(response_.compared(1).reason(), HasSubstr("matrix"));
  EXPECT_EQ(response_.schedule().entries_size(), 2);
  EXPECT_EQ(response_.schedule().total_entries(), 2);
  EXPECT_EQ(response_.schedule().entries(1).mask_size(), 8);
  EXPECT_EQ(response_.change().plan().members_size(), 9);
  EXPECT_GE(response_.change().moved_bytes(), response_.change().moved_bytes_lower_bound());
  EXPECT_GT(response_.plan().summary().step_seconds_longest(), 0);
  EXPECT_GT(response_.plan().summary().workers(0).communicator_bytes(), 0);
}

TEST_F(PlanServiceTest, SaysWhenTheAnswerIsTooLargeForAMessage) {
  request_.set_workers(1024);
  request_.mutable_spec()->mutable_model()->mutable_llama()->set_layers(1024);
  request_.mutable_spec()->mutable_batch()->set_global_sequences(1024);
  for (const v1::MaskGenerator generator : {v1::MASK_GENERATOR_FULL, v1::MASK_GENERATOR_RANDOM,
                                            v1::MASK_GENERATOR_CYCLIC, v1::MASK_GENERATOR_BALANCED}) {
    request_.add_compare(generator);
  }
  request_.mutable_spec()->mutable_masking()->set_generator(v1::MASK_GENERATOR_FULL);
  ExpectRefused(grpc::StatusCode::RESOURCE_EXHAUSTED, "more than fits into a message");
}

}  // namespace
}  // namespace sdp::coordinator
