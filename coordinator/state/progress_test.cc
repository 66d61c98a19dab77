#include "coordinator/state/progress.h"

#include <cmath>
#include <limits>

#include "gtest/gtest.h"

namespace sdp::coordinator {
namespace {

const absl::Time kStart = absl::UnixEpoch();

Plan PlanOf(int workers) {
  Plan plan;
  for (int i = 0; i < workers; ++i) {
    PlanMember member;
    member.worker = WorkerName("w" + std::to_string(i));
    plan.members.push_back(member);
  }
  return plan;
}

StepReport Report(int64_t committed, int64_t first, int64_t tokens) {
  StepReport report;
  report.committed_steps = committed;
  for (int64_t step = first; step < committed; ++step) {
    report.steps.push_back({step, 10.0 - static_cast<double>(step), tokens, 0.1, 2.0, false});
  }
  return report;
}

TEST(ProgressTest, SumsOverWorkers) {
  ProgressTracker tracker(PlanOf(2), 100);
  tracker.Start(kStart);
  StepReport first = Report(4, 0, 50);
  first.bytes_sent = 400;
  first.peak_tensor_bytes = 7;
  first.step_seconds = 2;
  first.averaging_seconds = 3;
  first.exposed_averaging_seconds = 1;
  tracker.Add(0, first, kStart + absl::Seconds(8));
  StepReport second;
  second.committed_steps = 2;
  second.bytes_sent = 600;
  second.peak_tensor_bytes = 9;
  second.step_seconds = 3;
  second.averaging_seconds = 1;
  second.exposed_averaging_seconds = 0;
  tracker.Add(1, second, kStart + absl::Seconds(8));

  const JobProgress& progress = tracker.progress();
  EXPECT_EQ(progress.step, 4);
  EXPECT_EQ(progress.total_steps, 100);
  EXPECT_EQ(progress.tokens, 200);
  EXPECT_DOUBLE_EQ(progress.loss, 7.0);
  EXPECT_DOUBLE_EQ(progress.tokens_per_second, 25.0);
  EXPECT_DOUBLE_EQ(progress.eta_seconds, 96 / 0.5);
  EXPECT_EQ(progress.peak_tensor_bytes, 9);
  EXPECT_DOUBLE_EQ(progress.bytes_per_step, (100.0 + 300.0) / 2);
  EXPECT_DOUBLE_EQ(progress.hidden_averaging_ratio, 1 - 1.0 / 4);
  EXPECT_DOUBLE_EQ(progress.step_seconds, 3);
  ASSERT_EQ(progress.workers.size(), 2u);
  EXPECT_EQ(progress.workers[1].worker, WorkerName("w1"));
  EXPECT_EQ(progress.workers[1].step, 2);
}

TEST(ProgressTest, RatesAreOverTheLastSeconds) {
  ProgressTracker tracker(PlanOf(1), 1000);
  tracker.Start(kStart);
  // 1 token per second for 100 s, then 100 tokens per second.
  int64_t step = 0;
  for (; step < 100; ++step) {
    tracker.Add(0, Report(step + 1, step, 1), kStart + absl::Seconds(static_cast<double>(step + 1)));
  }
  EXPECT_DOUBLE_EQ(tracker.progress().tokens_per_second, 1.0);
  for (; step < 120; ++step) {
    tracker.Add(0, Report(step + 1, step, 100), kStart + absl::Seconds(static_cast<double>(step + 1)));
  }
  EXPECT_DOUBLE_EQ(tracker.progress().tokens_per_second, 100.0);
  EXPECT_DOUBLE_EQ(tracker.progress().eta_seconds, 880);
}

TEST(ProgressTest, RepeatedStepsCountOnceAndOtherRanksStepsNever) {
  ProgressTracker tracker(PlanOf(2), 10);
  tracker.Start(kStart);
  tracker.Add(0, Report(3, 0, 5), kStart + absl::Seconds(1));
  tracker.Add(0, Report(4, 1, 5), kStart + absl::Seconds(2));
  tracker.Add(1, Report(4, 0, 5), kStart + absl::Seconds(2));
  EXPECT_EQ(tracker.progress().tokens, 20);
}

TEST(ProgressTest, SkippedStepsTrainNothingAndShowNoNan) {
  ProgressTracker tracker(PlanOf(1), 10);
  tracker.Start(kStart);
  tracker.Add(0, Report(1, 0, 5), kStart + absl::Seconds(1));
  StepReport bad;
  bad.committed_steps = 3;
  const double nan = std::numeric_limits<double>::quiet_NaN();
  bad.steps = {{1, nan, 5, 0.1, nan, true}, {2, nan, 5, 0.1, nan, true}};
  const ProgressTracker::Update update = tracker.Add(0, bad, kStart + absl::Seconds(2));
  EXPECT_EQ(update.skipped, (std::vector<int64_t>{1, 2}));
  EXPECT_EQ(tracker.consecutive_skipped(), 2);
  EXPECT_EQ(tracker.progress().skipped_steps, 2);
  EXPECT_EQ(tracker.progress().tokens, 5);
  EXPECT_DOUBLE_EQ(tracker.progress().loss, 10.0);
  tracker.Add(0, Report(4, 3, 5), kStart + absl::Seconds(3));
  EXPECT_EQ(tracker.consecutive_skipped(), 0);
  EXPECT_EQ(tracker.progress().skipped_steps, 2);
}

TEST(ProgressTest, MovementIsAStepOrAPhase) {
  ProgressTracker tracker(PlanOf(1), 10);
  tracker.Start(kStart);
  StepReport report;
  EXPECT_FALSE(tracker.Add(0, report, kStart).moved);
  report.phase = StepPhase::kForward;
  EXPECT_TRUE(tracker.Add(0, report, kStart).moved);
  EXPECT_FALSE(tracker.Add(0, report, kStart).moved);
  report.committed_steps = 1;
  EXPECT_TRUE(tracker.Add(0, report, kStart).moved);
}

}  // namespace
}  // namespace sdp::coordinator
