#include "coordinator/planning/masks/mask_schedule.h"

#include <set>
#include <string>
#include <vector>

#include "coordinator/planning/masks/test_problems.h"
#include "coordinator/planning/spectrum/mask_graph.h"
#include "gtest/gtest.h"

namespace sdp {
namespace {

RedrawOptions Every(int steps, int64_t end) {
  RedrawOptions options;
  options.every_steps = steps;
  options.end_step = end;
  return options;
}

// The schedule that begins with the problem's mask.
MaskSchedule Schedule(const MaskProblem& problem, const RedrawOptions& options) {
  return PlanSchedule(problem, ChooseMask(problem).value(), options);
}

TEST(MaskScheduleTest, WithoutRedrawingThereIsOneMask) {
  const MaskProblem problem = EqualProblem(8, 16, 3);
  const MaskSchedule schedule = Schedule(problem, Every(0, 1000));
  ASSERT_EQ(schedule.entries.size(), 1u);
  EXPECT_TRUE(schedule.entries[0].mask == SolveMask(problem)->mask);
  EXPECT_NEAR(schedule.spectrum.mean_gap, schedule.entries[0].gap, 1e-9);
  EXPECT_EQ(schedule.entries[0].moved_bytes, 0);
}

TEST(MaskScheduleTest, EachEntryMovesTheLeastAndKeepsTheBalance) {
  const MaskProblem problem = EqualProblem(8, 32, 4);
  const MaskSchedule schedule = Schedule(problem, Every(100, 1600));
  ASSERT_EQ(schedule.entries.size(), 16u);
  std::set<std::vector<std::string>> different;
  for (size_t e = 0; e < schedule.entries.size(); ++e) {
    const ScheduleEntry& entry = schedule.entries[e];
    EXPECT_EQ(entry.from_step, 100 * static_cast<int64_t>(e));
    EXPECT_EQ(MinimumCoverage(entry.mask), 4);
    for (Rank i = 0; i < 8; ++i) EXPECT_EQ(entry.mask.Held(i), 16);
    EXPECT_NEAR(entry.gap, SpectralGap(entry.mask, std::vector<double>(32, 1.0)), 1e-12);
    EXPECT_GT(entry.gap, 0.6);
    different.insert(entry.mask.Rows());
    if (e == 0) continue;
    EXPECT_EQ(entry.moved_bytes, 8 * kStateBytesPerParameter);
    EXPECT_EQ(entry.moved_bytes_lower_bound, 8 * kStateBytesPerParameter);
  }
  EXPECT_EQ(different.size(), 16u);
  // Of symmetric operators (loads are equal), the mean's lambda_2 is at most the mean of theirs.
  double sum = 0;
  for (const ScheduleEntry& entry : schedule.entries) sum += entry.gap;
  EXPECT_GE(schedule.spectrum.mean_gap, sum / 16 - 1e-9);
}

TEST(MaskScheduleTest, ComponentsVisitWorkers) {
  const MaskSchedule schedule = Schedule(EqualProblem(4, 8, 2), Every(1, 9));
  // Workers meet more others than with any one mask: the best has 0.5.
  EXPECT_GT(schedule.spectrum.mean_gap, 0.55);
  for (Rank i = 0; i < 4; ++i) {
    for (int b = 0; b < 8; ++b) {
      bool held = false;
      for (const ScheduleEntry& entry : schedule.entries) held = held || entry.mask.holds(i, b);
      EXPECT_TRUE(held) << i << " never holds " << b;
    }
  }
}

TEST(MaskScheduleTest, BudgetsHoldInEveryEntry) {
  MaskProblem problem = EqualProblem(6, 17, 2);
  const std::vector<double> sizes = LlamaWithHeavyHead();
  for (int b = 0; b < 17; ++b) {
    problem.components[b].size = sizes[b];
    problem.components[b].memory_bytes = static_cast<int64_t>(sizes[b]);
  }
  const int64_t total = 2 * 1220'000'000LL;
  for (int i = 0; i < 6; ++i) problem.workers[i].profile.memory_budget_bytes = total / (i < 3 ? 4 : 9);
  const MaskSchedule schedule = Schedule(problem, Every(10, 100));
  EXPECT_EQ(schedule.entries.size(), 10u);
  for (const ScheduleEntry& entry : schedule.entries) {
    for (Rank i = 0; i < 6; ++i) {
      double held = 0;
      for (int b = 0; b < 17; ++b) held += entry.mask.holds(i, b) ? sizes[b] : 0;
      EXPECT_LE(held, static_cast<double>(problem.workers[i].profile.memory_budget_bytes));
    }
  }
}

TEST(MaskScheduleTest, FullMasksStay) {
  MaskProblem problem = EqualProblem(3, 4, 3);
  const MaskSchedule schedule = Schedule(problem, Every(1, 3));
  for (const ScheduleEntry& entry : schedule.entries) EXPECT_EQ(entry.moved_bytes, 0);
}

TEST(MaskScheduleTest, PlansAheadOnlySoFar) {
  RedrawOptions options = Every(1, 1'000'000'000);
  options.max_entries = 5;
  EXPECT_EQ(Schedule(EqualProblem(4, 8, 2), options).entries.size(), 5u);
}

}  // namespace
}  // namespace sdp
