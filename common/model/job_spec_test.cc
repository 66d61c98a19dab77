#include "common/model/job_spec.h"

#include "gtest/gtest.h"

namespace sdp {
namespace {

OptimizerSpec Optimizer(int warmup_steps, double final_ratio) {
  OptimizerSpec optimizer;
  optimizer.adamw.learning_rate = 2.0;
  optimizer.schedule.warmup_steps = warmup_steps;
  optimizer.schedule.final_ratio = final_ratio;
  return optimizer;
}

TEST(LearningRateTest, WarmsUpLinearlyAndReachesThePeakAtTheLastWarmupStep) {
  const OptimizerSpec optimizer = Optimizer(4, 0.1);
  EXPECT_DOUBLE_EQ(LearningRate(optimizer, 0, 100), 0.5);
  EXPECT_DOUBLE_EQ(LearningRate(optimizer, 1, 100), 1.0);
  EXPECT_DOUBLE_EQ(LearningRate(optimizer, 3, 100), 2.0);
  EXPECT_LT(LearningRate(optimizer, 4, 100), 2.0);
}

TEST(LearningRateTest, ReachesTheFinalRatioAtTheLastStepAndStaysThere) {
  const OptimizerSpec optimizer = Optimizer(4, 0.1);
  EXPECT_DOUBLE_EQ(LearningRate(optimizer, 99, 100), 0.2);
  EXPECT_DOUBLE_EQ(LearningRate(optimizer, 150, 100), 0.2);
  EXPECT_GT(LearningRate(optimizer, 98, 100), 0.2);
}

TEST(LearningRateTest, IsHalfwayInTheMiddleOfTheCosine) {
  // Peak at step 0, last step 10: step 5 is the middle of [0.5, 2.0].
  EXPECT_DOUBLE_EQ(LearningRate(Optimizer(0, 0.25), 5, 11), 1.25);
}

TEST(LearningRateTest, WithoutWarmupBeginsAtThePeak) {
  EXPECT_DOUBLE_EQ(LearningRate(Optimizer(0, 0.1), 0, 100), 2.0);
  EXPECT_DOUBLE_EQ(LearningRate(Optimizer(1, 0.1), 0, 100), 2.0);
}

TEST(LearningRateTest, NeverRisesAfterWarmup) {
  const OptimizerSpec optimizer = Optimizer(7, 0.0);
  for (int step = 7; step < 60; ++step) {
    EXPECT_LT(LearningRate(optimizer, step, 60), LearningRate(optimizer, step - 1, 60)) << step;
  }
}

TEST(LearningRateTest, JobsAsShortAsTheirWarmup) {
  EXPECT_DOUBLE_EQ(LearningRate(Optimizer(0, 0.1), 0, 1), 2.0);     // one step: the peak
  EXPECT_DOUBLE_EQ(LearningRate(Optimizer(5, 0.1), 4, 5), 2.0);     // ends with the warm-up
  EXPECT_DOUBLE_EQ(LearningRate(Optimizer(10, 0.1), 2, 3), 0.6);    // ends within it
  EXPECT_DOUBLE_EQ(LearningRate(Optimizer(10, 0.1), 12, 10), 2.0);  // beyond the end of such a job
}

TEST(JobSpecTest, TotalStepsIsTheFewestThatReachTheTokens) {
  JobSpec spec;
  spec.model.seq_len = 10;
  spec.batch.global_sequences = 4;
  spec.stop_tokens = 81;
  EXPECT_EQ(spec.total_steps(), 3);
  spec.stop_tokens = 80;
  EXPECT_EQ(spec.total_steps(), 2);
  spec.stop_tokens = 0;
  spec.stop_steps = 7;
  EXPECT_EQ(spec.total_steps(), 7);
}

}  // namespace
}  // namespace sdp
