#include "worker/averaging/executor.h"

#include <deque>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "common/base/clock.h"
#include "worker/averaging/scoped_sigpipe_block.h"
#include "worker/averaging/suspect.h"

namespace sdp {
namespace {

const char* Name(const CollectiveCall& call) {
  switch (call.collective) {
    case Collective::kAllReduce:
      return "all-reduce";
    case Collective::kReduceScatter:
      return "reduce-scatter";
    case Collective::kAllGather:
      return "all-gather";
    case Collective::kBroadcast:
      return "broadcast";
    case Collective::kSendRecv:
      return call.sends ? "send" : "receive";
    case Collective::kBarrier:
      return "small all-reduce";
  }
  return "collective";
}

}  // namespace

std::string Describe(const CollectiveCall& call) {
  return absl::StrCat(Name(call), " of ", call.elements, " elements in group ", call.group->id);
}

struct Executor::Job {
  explicit Job(CollectiveCall call) : call(std::move(call)) {}

  const CollectiveCall call;
  // Guarded by State::mutex; constant once done is true.
  bool done = false;
  absl::Status status;
  absl::Time began;
  absl::Time ended;
};

struct Executor::State {
  const std::shared_ptr<Transport> transport;
  const absl::Duration timeout;
  const Clock clock;

  absl::Mutex mutex;
  absl::CondVar changed;
  std::deque<std::shared_ptr<Job>> queue ABSL_GUARDED_BY(mutex);
  std::shared_ptr<Job> running ABSL_GUARDED_BY(mutex);
  absl::Time deadline ABSL_GUARDED_BY(mutex) = absl::InfiniteFuture();  // of the running job
  bool aborted ABSL_GUARDED_BY(mutex) = false;
  bool stopping ABSL_GUARDED_BY(mutex) = false;
  absl::Status failure ABSL_GUARDED_BY(mutex);  // of all jobs from now on

  State(std::shared_ptr<Transport> transport, absl::Duration timeout)
      : transport(std::move(transport)), timeout(timeout) {}

  void CompleteLocked(Job& job, absl::Status status) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex) {
    job.status = std::move(status);
    job.ended = clock.Now();
    job.done = true;
    changed.SignalAll();
  }

  // Why the running job is late.
  absl::Status Late() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex) {
    const Rank peer = transport->waiting_for();
    const std::string text =
        absl::StrCat(Describe(running->call), " did not end within ", absl::FormatDuration(timeout));
    if (peer < 0) return absl::DeadlineExceededError(text);
    return WithSuspect(absl::DeadlineExceededError(absl::StrCat(text, ": still waiting for rank ", peer)),
                       peer);
  }
};

// Whoever waits also watches the deadline of what runs: a collective that nobody waits for needs none.
class Executor::JobWork : public Work {
 public:
  JobWork(std::shared_ptr<State> state, std::shared_ptr<Job> job)
      : state_(std::move(state)), job_(std::move(job)) {}

  absl::Status Wait() override {
    State& state = *state_;
    absl::MutexLock lock(&state.mutex);
    while (!job_->done) {
      const absl::Time now = state.clock.Now();
      if (now < state.deadline) {
        state.changed.WaitWithTimeout(&state.mutex, state.deadline - now);
        continue;
      }
      state.deadline = absl::InfiniteFuture();
      state.transport->Interrupt(state.Late());
    }
    return job_->status;
  }

  bool Done() const override {
    absl::MutexLock lock(&state_->mutex);
    return job_->done;
  }

  absl::Time began() const override {
    absl::MutexLock lock(&state_->mutex);
    return job_->began;
  }

  absl::Time ended() const override {
    absl::MutexLock lock(&state_->mutex);
    return job_->ended;
  }

 private:
  const std::shared_ptr<State> state_;
  const std::shared_ptr<Job> job_;
};

Executor::Executor(std::shared_ptr<Transport> transport, absl::Duration timeout, CollectiveRunner& runner)
    : state_(std::make_shared<State>(std::move(transport), timeout)), runner_(runner) {
  ScopedSigpipeBlock block;
  thread_ = std::thread([this] { Loop(); });
}

Executor::~Executor() {
  {
    absl::MutexLock lock(&state_->mutex);
    state_->stopping = true;
    if (state_->running != nullptr || !state_->queue.empty()) {
      state_->transport->Interrupt(absl::CancelledError("the mesh was destroyed with collectives under way"));
    }
    state_->changed.SignalAll();
  }
  thread_.join();
}

std::unique_ptr<Work> Executor::Start(CollectiveCall call) {
  auto job = std::make_shared<Job>(std::move(call));
  absl::MutexLock lock(&state_->mutex);
  job->began = state_->clock.Now();
  if (state_->failure.ok()) {
    state_->queue.push_back(job);
    state_->changed.SignalAll();
  } else {
    state_->CompleteLocked(*job, state_->failure);
  }
  return std::make_unique<JobWork>(state_, std::move(job));
}

void Executor::Abort(absl::string_view reason) {
  state_->transport->Interrupt(absl::CancelledError(reason));
  absl::MutexLock lock(&state_->mutex);
  state_->aborted = true;
  if (state_->failure.ok()) state_->failure = state_->transport->failure();
  state_->changed.SignalAll();
}

std::shared_ptr<Executor::Job> Executor::Next() {
  State& state = *state_;
  absl::MutexLock lock(&state.mutex);
  while (state.queue.empty() && !state.stopping && (closed_ || !state.aborted)) {
    state.changed.Wait(&state.mutex);
  }
  if (state.queue.empty()) return nullptr;
  std::shared_ptr<Job> job = std::move(state.queue.front());
  state.queue.pop_front();
  job->began = state.clock.Now();
  state.running = job;
  state.deadline = job->began + state.timeout;
  state.changed.SignalAll();  // waiters watch the new deadline
  return job;
}

void Executor::GiveUp(const absl::Status& failure) {
  runner_.ReleaseMemory();
  {
    State& state = *state_;
    absl::MutexLock lock(&state.mutex);
    if (state.failure.ok()) state.failure = failure;
    if (state.running != nullptr) state.CompleteLocked(*std::exchange(state.running, nullptr), failure);
    state.deadline = absl::InfiniteFuture();
    while (!state.queue.empty()) {
      state.CompleteLocked(*state.queue.front(), failure);
      state.queue.pop_front();
    }
  }
  if (!std::exchange(closed_, true)) state_->transport->Close();
}

void Executor::Loop() {
  State& state = *state_;
  while (true) {
    const std::shared_ptr<Job> job = Next();
    absl::Status status = state.transport->failure();
    if (job != nullptr && status.ok()) {
      status = runner_.Run(job->call);
      if (!status.ok()) {
        // What came first counts: an abort or a lost peer is why a receive failed.
        state.transport->Interrupt(std::move(status));
        status = state.transport->failure();
      }
    }
    if (!status.ok()) {
      GiveUp(status);
    } else if (job != nullptr) {
      absl::MutexLock lock(&state.mutex);
      state.running = nullptr;
      state.deadline = absl::InfiniteFuture();
      state.CompleteLocked(*job, absl::OkStatus());
    }
    absl::MutexLock lock(&state.mutex);
    if (state.stopping && state.queue.empty()) break;
  }
  runner_.ReleaseMemory();
  if (!std::exchange(closed_, true)) state.transport->Close();
}

}  // namespace sdp
