#include "coordinator/service/core_runner.h"

#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "coordinator/state/transcript.h"
#include "coordinator/store/memory_job_store.h"
#include "gtest/gtest.h"

namespace sdp::coordinator {
namespace {

// Notes what it is told, and what the store had at that moment.
class NotingSink : public EffectSink {
 public:
  explicit NotingSink(JobStore* store) : store_(*store) {}
  void SendToSession(SessionId session, const ToWorker& message) override {
    Note(absl::StrCat("send ", session.value(), " ", message.index()));
  }
  void CloseSession(SessionId session, const absl::Status&) override {
    Note(absl::StrCat("close ", session.value()));
  }
  void JobChanged(const JobId& id) override { Note(absl::StrCat("changed ", id.value())); }
  void EventAdded(const JobId& id, const JobEvent& event) override {
    Note(absl::StrCat("event ", event.sequence, " of ", id.value()));
  }
  void WriteLog(const Log&) override {}
  void StoreFailed(const absl::Status& status) override { Note(absl::StrCat("store ", status.message())); }

  std::vector<std::string> notes() const {
    absl::MutexLock lock(&mutex_);
    return notes_;
  }

 private:
  void Note(std::string note) {
    const auto stored = store_.Load();
    if (stored.ok() && !stored->empty()) {
      absl::StrAppend(&note, " (stored ", JobStateName((*stored)[0].job.state), ")");
    }
    absl::MutexLock lock(&mutex_);
    notes_.push_back(std::move(note));
  }
  JobStore& store_;
  mutable absl::Mutex mutex_;
  std::vector<std::string> notes_ ABSL_GUARDED_BY(mutex_);
};

RegisterWorker Register(int64_t session, const std::string& name) {
  RegisterWorker event;
  event.session = SessionId(session);
  event.registration.worker = WorkerName(name);
  return event;
}

SubmitJob Submit(const std::string& id) {
  auto spec = std::make_shared<JobSpec>();
  spec->stop_steps = 1;
  return SubmitJob{JobId(id), "", "", spec};
}

TEST(CoreRunnerTest, StoresBeforeItSays) {
  Clock clock;
  MemoryJobStore store;
  NotingSink sink(&store);
  CoreRunner runner(CoordinatorCore(Timing(), PlanForTest), &clock, &store, &sink);
  runner.Step(Register(1, "a"));
  runner.Step(Submit("j"));
  const std::vector<std::string> notes = sink.notes();
  ASSERT_FALSE(notes.empty());
  EXPECT_EQ(notes.front(), "send 1 0");                    // the Welcome
  EXPECT_EQ(notes.back(), "send 1 1 (stored PREPARING)");  // the Assignment
}

class FailingStore : public MemoryJobStore {
 public:
  absl::Status SaveJob(const Job& job) override {
    if (job.state == JobState::kPreparing) return absl::ResourceExhaustedError("disk full");
    return MemoryJobStore::SaveJob(job);
  }
};

TEST(CoreRunnerTest, WhatIsNotStoredIsNotSaid) {
  Clock clock;
  FailingStore store;
  NotingSink sink(&store);
  CoreRunner runner(CoordinatorCore(Timing(), PlanForTest), &clock, &store, &sink);
  runner.Step(Register(1, "a"));
  runner.Step(Submit("j"));
  EXPECT_EQ(sink.notes().back(), "store disk full (stored QUEUED)");
  runner.Step(Register(2, "b"));
  EXPECT_EQ(sink.notes().back(), "store disk full (stored QUEUED)");
}

TEST(CoreRunnerTest, ThenComesAfterEarlierEffectsAndMayRunAgain) {
  Clock clock;
  MemoryJobStore store;
  NotingSink sink(&store);
  CoreRunner runner(CoordinatorCore(Timing(), PlanForTest), &clock, &store, &sink);
  std::vector<std::string> order;
  runner.Run([](CoordinatorCore& core, absl::Time now) { return core.Step(Register(1, "a"), now); },
             [&] {
               order.push_back(absl::StrCat("first after ", sink.notes().size()));
               runner.Run([](CoordinatorCore&, absl::Time) { return Effects(); },
                          [&] { order.push_back("second"); });
               order.push_back("still first");
             });
  EXPECT_EQ(order, (std::vector<std::string>{"first after 1", "still first", "second"}));
}

TEST(CoreRunnerTest, ManyThreadsKeepTheOrderOfTheCore) {
  Clock clock;
  MemoryJobStore store;  // refuses events that are out of order
  NotingSink sink(&store);
  CoreRunner runner(CoordinatorCore(Timing(), PlanForTest), &clock, &store, &sink);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&runner, t] {
      for (int i = 0; i < 50; ++i) {
        runner.Step(Submit(absl::StrCat("j", t, "-", i)));
        runner.Step(Register(t * 1000 + i, absl::StrCat("w", t, "-", i)));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const std::string& note : sink.notes()) EXPECT_EQ(note.find("store"), note.find("stored")) << note;
  const auto stored = store.Load();
  ASSERT_TRUE(stored.ok());
  EXPECT_EQ(stored->size(), 200u);
  for (const StoredJob& job : *stored) EXPECT_EQ(job.job.state, JobState::kPreparing) << job.job.id;
}

TEST(TickerTest, TicksUntilDestroyed) {
  absl::Mutex mutex;
  int ticks = 0;
  {
    Ticker ticker(absl::Milliseconds(1), [&] {
      absl::MutexLock lock(&mutex);
      ++ticks;
    });
    absl::MutexLock lock(&mutex);
    const auto enough = [&] { return ticks >= 3; };
    EXPECT_TRUE(mutex.AwaitWithTimeout(absl::Condition(&enough), absl::Seconds(20)));
  }
  const int at_end = ticks;
  EXPECT_GE(at_end, 3);
}

}  // namespace
}  // namespace sdp::coordinator
