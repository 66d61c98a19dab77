#include "coordinator/store/memory_job_store.h"

#include "gtest/gtest.h"

namespace sdp::coordinator {
namespace {

Job MakeJob(const std::string& id, int64_t number, JobState state = JobState::kQueued) {
  Job job;
  job.id = JobId(id);
  job.number = number;
  job.state = state;
  return job;
}

JobEvent MakeEvent(int64_t sequence) {
  JobEvent event;
  event.sequence = sequence;
  event.message = "event " + std::to_string(sequence);
  return event;
}

TEST(MemoryJobStoreTest, LoadsWhatWasSaved) {
  MemoryJobStore store;
  ASSERT_TRUE(store.SaveJob(MakeJob("b", 1)).ok());
  ASSERT_TRUE(store.SaveJob(MakeJob("a", 2)).ok());
  ASSERT_TRUE(store.AppendEvent(JobId("b"), MakeEvent(1)).ok());
  ASSERT_TRUE(store.AppendEvent(JobId("b"), MakeEvent(2)).ok());
  ASSERT_TRUE(store.SaveJob(MakeJob("b", 1, JobState::kRunning)).ok());

  const auto stored = store.Load();
  ASSERT_TRUE(stored.ok());
  ASSERT_EQ(stored->size(), 2u);
  EXPECT_EQ((*stored)[0].job.id, JobId("b"));
  EXPECT_EQ((*stored)[0].job.state, JobState::kRunning);
  ASSERT_EQ((*stored)[0].events.size(), 2u);
  EXPECT_EQ((*stored)[0].events[1].message, "event 2");
  EXPECT_EQ((*stored)[1].job.id, JobId("a"));
  EXPECT_TRUE((*stored)[1].events.empty());
}

TEST(MemoryJobStoreTest, RefusesEventsThatDoNotFit) {
  MemoryJobStore store;
  EXPECT_EQ(store.AppendEvent(JobId("a"), MakeEvent(1)).code(), absl::StatusCode::kNotFound);
  ASSERT_TRUE(store.SaveJob(MakeJob("a", 1)).ok());
  EXPECT_EQ(store.AppendEvent(JobId("a"), MakeEvent(2)).code(), absl::StatusCode::kFailedPrecondition);
  ASSERT_TRUE(store.AppendEvent(JobId("a"), MakeEvent(1)).ok());
  EXPECT_EQ(store.AppendEvent(JobId("a"), MakeEvent(1)).code(), absl::StatusCode::kFailedPrecondition);
}

}  // namespace
}  // namespace sdp::coordinator
