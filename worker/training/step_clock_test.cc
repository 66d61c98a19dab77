#include "worker/training/step_clock.h"

#include <gtest/gtest.h>

namespace sdp {
namespace {

TrainerStats StatsOf(const StepClock& clock) {
  TrainerStats stats;
  clock.Fill(stats);
  return stats;
}

TEST(StepClockTest, AddsUpPhases) {
  StepClock clock;
  const absl::Time start = absl::UnixEpoch();
  for (int step = 0; step < 2; ++step) {
    const absl::Time began = start + step * absl::Seconds(100);
    clock.Enter(StepPhase::kData, began);
    clock.Enter(StepPhase::kForward, began + absl::Seconds(1));
    clock.Enter(StepPhase::kBackward, began + absl::Seconds(3));
    clock.Enter(StepPhase::kAverageWait, began + absl::Seconds(7));
    clock.Enter(StepPhase::kCommit, began + absl::Seconds(12));
    EXPECT_EQ(StatsOf(clock).phase, StepPhase::kCommit);
    clock.Enter(StepPhase::kUpdate, began + absl::Seconds(18));
    clock.Enter(StepPhase::kNone, began + absl::Seconds(25));
  }
  const TrainerStats stats = StatsOf(clock);
  EXPECT_EQ(stats.phase, StepPhase::kNone);
  EXPECT_EQ(stats.phase_seconds.data, 2);
  EXPECT_EQ(stats.phase_seconds.forward, 4);
  EXPECT_EQ(stats.phase_seconds.backward, 8);
  EXPECT_EQ(stats.phase_seconds.average_wait, 10);
  EXPECT_EQ(stats.phase_seconds.commit, 12);
  EXPECT_EQ(stats.phase_seconds.update, 14);
}

TEST(StepClockTest, StepSecondsAreTheMedianOfTheLastRounds) {
  StepClock clock;
  EXPECT_EQ(StatsOf(clock).step_seconds, 0);
  for (int round = 0; round < 64; ++round) clock.AddRound(absl::Seconds(1000), 1);
  EXPECT_EQ(StatsOf(clock).step_seconds, 1000);
  for (int round = 0; round < 33; ++round) clock.AddRound(absl::Seconds(8), 4);
  EXPECT_EQ(StatsOf(clock).step_seconds, 2) << "most of the last 64 took 2 s for each of four steps";
}

}  // namespace
}  // namespace sdp
