#include "coordinator/planning/step_time.h"

#include "gtest/gtest.h"

namespace sdp {
namespace {

WorkerCost Cost() {
  WorkerCost cost;
  cost.bytes_per_step = 3'000'000;
  cost.flops_per_step = 8e9;
  cost.communicators = 3;
  return cost;
}

TEST(StepTimeTest, DividesCostsByRates) {
  const StepTime time = PredictStepTime(Cost(), {2e9, 1e6});
  EXPECT_DOUBLE_EQ(time.compute_seconds, 4);
  EXPECT_DOUBLE_EQ(time.averaging_seconds, 3);
  EXPECT_DOUBLE_EQ(time.shortest(), 4);
  EXPECT_DOUBLE_EQ(time.longest(), 7);
}

TEST(StepTimeTest, WhatIsUnknownCountsAsNoTime) {
  EXPECT_EQ(PredictStepTime(Cost(), {}).longest(), 0);
  EXPECT_EQ(PredictStepTime(Cost(), {2e9, 0}).longest(), 4);
}

TEST(StepTimeTest, OnlyNcclCommunicatorsTakeDeviceMemory) {
  EXPECT_EQ(CommunicatorBytes(Cost(), CommunicatorKind::kGloo), 0);
  EXPECT_EQ(CommunicatorBytes(Cost(), CommunicatorKind::kNccl), int64_t{768} << 20);
}

}  // namespace
}  // namespace sdp
