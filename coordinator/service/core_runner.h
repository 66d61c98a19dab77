// Runs the pure core: one event at a time, and carries out its effects in order.
#pragma once

#include <deque>
#include <functional>
#include <thread>
#include <variant>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "common/base/clock.h"
#include "coordinator/state/coordinator_core.h"
#include "coordinator/store/job_store.h"

namespace sdp::coordinator {

// What effects reach. Called without a lock held, by one thread at a time, in order.
class EffectSink {
 public:
  virtual ~EffectSink() = default;
  virtual void SendToSession(SessionId session, const ToWorker& message) = 0;
  virtual void CloseSession(SessionId session, const absl::Status& status) = 0;
  // The job is another than before, which is stored.
  virtual void JobChanged(const JobId& id) = 0;
  // The job has a new event, which is stored.
  virtual void EventAdded(const JobId& id, const JobEvent& event) = 0;
  virtual void WriteLog(const Log& log) = 0;
  // Nothing more is carried out: what is not stored must not be said.
  virtual void StoreFailed(const absl::Status& status) = 0;
};

// Thread-safe. Effects are carried out by whichever caller finds nobody else at it, after the lock is
// released.
class CoreRunner {
 public:
  // All must outlive the runner.
  CoreRunner(CoordinatorCore core, const Clock* clock, JobStore* store, EffectSink* sink)
      : clock_(*clock), store_(*store), sink_(*sink), core_(std::move(core)) {}

  // Runs `decide` with the core, alone; it must not block or call back into the runner. Then carries out the
  // effects that it returns, and calls `then` once they and all earlier ones are carried out: perhaps later,
  // by another thread.
  void Run(const std::function<Effects(CoordinatorCore& core, absl::Time now)>& decide,
           std::function<void()> then = nullptr) ABSL_LOCKS_EXCLUDED(mutex_);

  // Run for an event whose effects are all there is to it.
  void Step(const Event& event) {
    Run([&event](CoordinatorCore& core, absl::Time now) { return core.Step(event, now); });
  }

 private:
  using Item = std::variant<Effect, std::function<void()>>;

  void CarryOutAll() ABSL_LOCKS_EXCLUDED(mutex_);
  void CarryOut(const Item& item);
  absl::Status Store(const Effect& effect);

  const Clock& clock_;
  JobStore& store_;
  EffectSink& sink_;

  absl::Mutex mutex_;
  CoordinatorCore core_ ABSL_GUARDED_BY(mutex_);
  std::deque<Item> items_ ABSL_GUARDED_BY(mutex_);
  bool carrying_out_ ABSL_GUARDED_BY(mutex_) = false;

  // Only touched by the thread that has set carrying_out_.
  bool store_failed_ = false;
};

// Calls a function at regular intervals until destroyed.
class Ticker {
 public:
  Ticker(absl::Duration interval, std::function<void()> function);
  ~Ticker();
  Ticker(const Ticker&) = delete;
  Ticker& operator=(const Ticker&) = delete;

 private:
  absl::Mutex mutex_;
  bool stopped_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace sdp::coordinator
