#include "coordinator/state/job.h"

#include <algorithm>
#include <set>

#include "gtest/gtest.h"

namespace sdp::coordinator {
namespace {

bool InTable(JobState from, JobState to) {
  const auto& table = JobTransitions();
  return std::find(table.begin(), table.end(), std::make_pair(from, to)) != table.end();
}

TEST(JobTransitionsTest, CheckFollowsTheTableForEveryPair) {
  for (JobState from : AllJobStates()) {
    for (JobState to : AllJobStates()) {
      EXPECT_EQ(CheckTransition(from, to).ok(), InTable(from, to))
          << JobStateName(from) << " -> " << JobStateName(to);
    }
  }
}

TEST(JobTransitionsTest, ErrorNamesBothStates) {
  const absl::Status status = CheckTransition(JobState::kSucceeded, JobState::kRunning);
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(status.message(), "a job cannot go from SUCCEEDED to RUNNING");
}

TEST(JobTransitionsTest, EndedStatesAreFinalAndAllOthersReachAnEnd) {
  for (JobState state : AllJobStates()) {
    std::set<JobState> reached = {state};
    for (size_t before = 0; before != reached.size();) {
      before = reached.size();
      for (const auto& [from, to] : JobTransitions()) {
        if (reached.count(from) > 0) reached.insert(to);
      }
    }
    if (IsEnded(state)) {
      EXPECT_EQ(reached.size(), 1u) << JobStateName(state) << " is not final";
    } else {
      EXPECT_TRUE(std::any_of(reached.begin(), reached.end(), IsEnded)) << JobStateName(state);
      EXPECT_TRUE(reached.count(JobState::kCancelled) > 0 || state == JobState::kFailing)
          << JobStateName(state) << " cannot be cancelled";
    }
  }
}

TEST(JobTransitionsTest, EveryStateIsReachedFromQueued) {
  for (JobState state : AllJobStates()) {
    if (state == JobState::kQueued) continue;
    EXPECT_TRUE(std::any_of(JobTransitions().begin(), JobTransitions().end(), [state](const auto& t) {
      return t.second == state;
    })) << JobStateName(state);
  }
}

TEST(EventLogTest, NumbersWithoutHoles) {
  EventLog log;
  for (int i = 1; i <= 5; ++i) EXPECT_EQ(log.Append(JobEvent()).sequence, i);
  int64_t sequence = 0;
  for (const JobEvent* event = log.After(0); event != nullptr; event = log.After(sequence)) {
    EXPECT_EQ(event->sequence, sequence + 1);
    sequence = event->sequence;
  }
  EXPECT_EQ(sequence, 5);
  EXPECT_EQ(log.After(5), nullptr);
  EXPECT_EQ(log.After(1000), nullptr);
}

TEST(EventLogTest, DropsTheOldestAndKeepsCounting) {
  EventLog log(/*capacity=*/3);
  for (int i = 1; i <= 10; ++i) log.Append(JobEvent());
  EXPECT_EQ(log.dropped(), 7);
  EXPECT_EQ(log.last_sequence(), 10);
  ASSERT_NE(log.After(0), nullptr);
  EXPECT_EQ(log.After(0)->sequence, 8);
  EXPECT_EQ(log.After(7)->sequence, 8);
  EXPECT_EQ(log.After(9)->sequence, 10);
  EXPECT_EQ(log.After(10), nullptr);
}

}  // namespace
}  // namespace sdp::coordinator
