#include "coordinator/planning/step_time.h"

#include "gtest/gtest.h"

namespace sdp {
namespace {

// A worker that computes more and one that sends more.
PlanSummary Summary() {
  PlanSummary summary;
  summary.workers.resize(2);
  summary.workers[0].flops_per_step = 8e9;
  summary.workers[0].bytes_per_step = 1'000'000;
  summary.workers[0].communicators = 3;
  summary.workers[1].flops_per_step = 4e9;
  summary.workers[1].bytes_per_step = 3'500'000;
  return summary;
}

TEST(StepTimeTest, DividesCostsByRates) {
  PlanSummary summary = Summary();
  PredictTimes({2e9, 1e6, false}, summary);
  EXPECT_DOUBLE_EQ(summary.workers[0].compute_seconds, 4);
  EXPECT_DOUBLE_EQ(summary.workers[0].averaging_seconds, 1);
  EXPECT_DOUBLE_EQ(summary.step_seconds_shortest, 4);
  EXPECT_DOUBLE_EQ(summary.step_seconds_longest, 5.5);
}

TEST(StepTimeTest, FasterWorkersTakeLess) {
  PlanSummary summary = Summary();
  summary.workers[0].relative_speed = 4;
  PredictTimes({2e9, 0, false}, summary);
  EXPECT_DOUBLE_EQ(summary.workers[0].compute_seconds, 1);
  EXPECT_DOUBLE_EQ(summary.step_seconds_longest, 2);
}

TEST(StepTimeTest, WhatIsUnknownCountsAsNoTime) {
  PlanSummary summary = Summary();
  PredictTimes({}, summary);
  EXPECT_EQ(summary.step_seconds_longest, 0);
  PredictTimes({2e9, 0, false}, summary);
  EXPECT_EQ(summary.step_seconds_longest, 4);
}

TEST(StepTimeTest, OnlyNcclCommunicatorsTakeDeviceMemory) {
  PlanSummary summary = Summary();
  PredictTimes({0, 0, false}, summary);
  EXPECT_EQ(summary.workers[0].communicator_bytes, 0);
  PredictTimes({0, 0, true}, summary);
  EXPECT_EQ(summary.workers[0].communicator_bytes, int64_t{768} << 20);
}

}  // namespace
}  // namespace sdp
