#include "coordinator/service/core_runner.h"

#include <utility>

namespace sdp::coordinator {

void CoreRunner::Run(const std::function<Effects(CoordinatorCore& core, absl::Time now)>& decide,
                     std::function<void()> then) {
  {
    absl::MutexLock lock(&mutex_);
    for (Effect& effect : decide(core_, clock_.Now())) items_.emplace_back(std::move(effect));
    if (then != nullptr) items_.emplace_back(std::move(then));
    if (carrying_out_ || items_.empty()) return;
    carrying_out_ = true;
  }
  CarryOutAll();
}

void CoreRunner::CarryOutAll() {
  std::deque<Item> batch;
  while (true) {
    {
      absl::MutexLock lock(&mutex_);
      batch.clear();
      batch.swap(items_);
      if (batch.empty()) {
        carrying_out_ = false;
        return;
      }
    }
    for (const Item& item : batch) CarryOut(item);
  }
}

void CoreRunner::CarryOut(const Item& item) {
  if (auto* then = std::get_if<std::function<void()>>(&item)) {
    (*then)();
    return;
  }
  if (store_failed_) return;
  const Effect& effect = std::get<Effect>(item);
  const absl::Status stored = Store(effect);
  if (!stored.ok()) {
    store_failed_ = true;
    sink_.StoreFailed(stored);
    return;
  }
  if (auto* job = std::get_if<PersistJob>(&effect)) {
    sink_.JobChanged(job->job.id);
  } else if (auto* event = std::get_if<PersistEvent>(&effect)) {
    sink_.EventAdded(event->job, event->event);
  } else if (auto* send = std::get_if<Send>(&effect)) {
    sink_.SendToSession(send->session, send->message);
  } else if (auto* close = std::get_if<coordinator::CloseSession>(&effect)) {
    sink_.CloseSession(close->session, close->status);
  } else if (auto* log = std::get_if<Log>(&effect)) {
    sink_.WriteLog(*log);
  }
  // A Reply is read by whoever asked.
}

absl::Status CoreRunner::Store(const Effect& effect) {
  if (auto* job = std::get_if<PersistJob>(&effect)) return store_.SaveJob(job->job);
  if (auto* event = std::get_if<PersistEvent>(&effect)) return store_.AppendEvent(event->job, event->event);
  return absl::OkStatus();
}

Ticker::Ticker(absl::Duration interval, std::function<void()> function)
    : thread_([this, interval, function = std::move(function)] {
        while (true) {
          {
            absl::MutexLock lock(&mutex_);
            if (mutex_.AwaitWithTimeout(absl::Condition(&stopped_), interval)) return;
          }
          function();
        }
      }) {}

Ticker::~Ticker() {
  {
    absl::MutexLock lock(&mutex_);
    stopped_ = true;
  }
  thread_.join();
}

}  // namespace sdp::coordinator
