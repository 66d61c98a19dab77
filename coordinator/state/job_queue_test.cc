#include "coordinator/state/job_queue.h"

#include "gtest/gtest.h"

namespace sdp::coordinator {
namespace {

std::vector<WorkerName> Names(int count) {
  std::vector<WorkerName> names;
  for (int i = 0; i < count; ++i) names.emplace_back("w" + std::to_string(i));
  return names;
}

const std::vector<QueuedJob> kTwoJobs = {{JobId("first"), 2, 3}, {JobId("second"), 1, 1}};

TEST(JobQueueTest, AnEmptyQueueDecidesNothing) {
  const QueueDecision decision = DecideQueue({}, Names(3));
  EXPECT_FALSE(decision.start.has_value());
  EXPECT_TRUE(decision.waits.empty());
}

TEST(JobQueueTest, StartsOnAtMostTheMaximum) {
  for (int idle = 2; idle <= 5; ++idle) {
    const QueueDecision decision = DecideQueue(kTwoJobs, Names(idle));
    ASSERT_TRUE(decision.start.has_value());
    EXPECT_EQ(decision.start->id, JobId("first"));
    EXPECT_EQ(decision.start->workers, Names(std::min(idle, 3)));
  }
}

TEST(JobQueueTest, NobodyOvertakes) {
  const QueueDecision decision = DecideQueue(kTwoJobs, Names(1));
  EXPECT_FALSE(decision.start.has_value());
  ASSERT_EQ(decision.waits.size(), 2u);
  EXPECT_EQ(decision.waits[0].second, "waits for 2 workers, 1 is free: w0");
  EXPECT_EQ(decision.waits[1].second, "waits behind jobs/first");
}

TEST(JobQueueTest, ReasonsCountAndName) {
  EXPECT_EQ(DecideQueue({{JobId("j"), 1, 1}}, {}).waits[0].second, "waits for 1 worker, none is free");
  EXPECT_EQ(DecideQueue({{JobId("j"), 20, 20}}, Names(10)).waits[0].second,
            "waits for 20 workers, 10 are free: w0, w1, w2, w3, w4, w5, w6, w7 and 2 more");
}

}  // namespace
}  // namespace sdp::coordinator
