#include "coordinator/service/watches.h"

#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/rpc/status.h"
#include "common/wire/wire.h"
#include "coordinator/service/translate.h"

namespace sdp::coordinator {

class Watches::Watch : public grpc::ServerWriteReactor<v1::WatchJobResponse>,
                       public std::enable_shared_from_this<Watch> {
 public:
  Watch(Watches* owner, JobId id, int64_t after_sequence)
      : owner_(*owner), id_(std::move(id)), last_sequence_(after_sequence) {}

  const JobId& id() const { return id_; }

  // gRPC uses the watch from here until OnDone.
  void Begin() { self_ = shared_from_this(); }

  // Sends the next message, if there is one and none is under way.
  void Pump() ABSL_LOCKS_EXCLUDED(mutex_) {
    {
      absl::MutexLock lock(&mutex_);
      if (end_.has_value()) return;
      again_ = busy_;
      if (busy_) return;
      busy_ = true;
    }
    auto next = std::make_shared<Next>();
    owner_.runner_.Run(
        [this, &next](CoordinatorCore& core, absl::Time now) {
          *next = Choose(core, now);
          return Effects();
        },
        [self = shared_from_this(), next] { self->Deliver(std::move(*next)); });
  }

  // Ends the watch after the message under way.
  void End(const absl::Status& status) ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    if (end_.has_value()) return;
    end_ = ToGrpc(status);
    if (!busy_) Finish(*end_);
  }

  void OnWriteDone(bool ok) override {
    {
      absl::MutexLock lock(&mutex_);
      if (!ok && !end_.has_value()) end_ = grpc::Status(grpc::StatusCode::UNAVAILABLE, "the watcher is gone");
      if (end_.has_value()) return Finish(*end_);
      busy_ = false;
    }
    Pump();
  }

  void OnCancel() override { End(absl::CancelledError("the watcher cancelled")); }

  void OnDone() override {
    owner_.Remove(shared_from_this());
    const std::shared_ptr<Watch> last = std::move(self_);
  }

 private:
  struct Next {
    std::optional<v1::WatchJobResponse> message;
    std::optional<absl::Status> end;
  };

  // What the watcher has not seen yet: events, then progress, then how the job ended.
  Next Choose(const CoordinatorCore& core, absl::Time now) {
    Next next;
    const CoordinatorCore::JobEntry* entry = core.FindJob(id_);
    if (entry == nullptr) {
      next.end = absl::NotFoundError(absl::StrCat("there is no ", JobResourceName(id_)));
    } else if (const JobEvent* event = entry->events.After(last_sequence_); event != nullptr) {
      last_sequence_ = event->sequence;
      *next.message.emplace().mutable_event() = EventToProto(*event);
    } else if (told_end_) {
      next.end = absl::OkStatus();
    } else if (IsEnded(entry->job.state)) {
      told_end_ = true;
      *next.message.emplace().mutable_final_job() = JobToProto(entry->job);
    } else if (entry->progress_version != progress_version_ && now - progress_time_ >= kProgressInterval) {
      progress_version_ = entry->progress_version;
      progress_time_ = now;
      *next.message.emplace().mutable_progress() = ProgressToProto(entry->job.progress);
    }
    return next;
  }

  void Deliver(Next next) ABSL_LOCKS_EXCLUDED(mutex_) {
    {
      absl::MutexLock lock(&mutex_);
      if (next.end.has_value() && !end_.has_value()) end_ = ToGrpc(*next.end);
      if (end_.has_value()) return Finish(*end_);
      if (next.message.has_value()) {
        message_ = *std::move(next.message);
        return StartWrite(&message_);
      }
      busy_ = false;
      if (!again_) return;
    }
    Pump();
  }

  Watches& owner_;
  const JobId id_;
  std::shared_ptr<Watch> self_;

  // Only touched by whoever has set busy_.
  int64_t last_sequence_;
  int64_t progress_version_ = 0;
  absl::Time progress_time_ = absl::InfinitePast();
  bool told_end_ = false;
  v1::WatchJobResponse message_;

  absl::Mutex mutex_;
  bool busy_ ABSL_GUARDED_BY(mutex_) = false;   // a message is being chosen or sent
  bool again_ ABSL_GUARDED_BY(mutex_) = false;  // Pump was called meanwhile
  std::optional<grpc::Status> end_ ABSL_GUARDED_BY(mutex_);
};

grpc::ServerWriteReactor<v1::WatchJobResponse>* Watches::Start(const v1::WatchJobRequest& request) {
  absl::StatusOr<JobId> id = JobIdFromResourceName(request.name());
  absl::Status problem = id.status();
  if (problem.ok() && request.after_sequence() < 0) {
    problem = absl::InvalidArgumentError(
        absl::StrCat("after_sequence: is ", request.after_sequence(), "; must be 0 or more"));
  }
  auto watch = std::make_shared<Watch>(this, id.ok() ? *id : JobId(), request.after_sequence());
  watch->Begin();
  if (problem.ok()) {
    absl::MutexLock lock(&mutex_);
    problem = shutdown_;
    if (problem.ok()) watches_[watch->id()].insert(watch);
  }
  if (problem.ok()) {
    watch->Pump();
  } else {
    watch->End(problem);
  }
  return watch.get();
}

void Watches::Notify(const JobId& id) {
  std::vector<std::shared_ptr<Watch>> watches;
  {
    absl::MutexLock lock(&mutex_);
    auto found = watches_.find(id);
    if (found != watches_.end()) watches.assign(found->second.begin(), found->second.end());
  }
  for (const auto& watch : watches) watch->Pump();
}

void Watches::NotifyAll() {
  std::vector<std::shared_ptr<Watch>> watches;
  {
    absl::MutexLock lock(&mutex_);
    for (const auto& [id, of_job] : watches_) watches.insert(watches.end(), of_job.begin(), of_job.end());
  }
  for (const auto& watch : watches) watch->Pump();
}

void Watches::ShutDown(const absl::Status& status) {
  std::vector<std::shared_ptr<Watch>> watches;
  {
    absl::MutexLock lock(&mutex_);
    shutdown_ = status;
    for (const auto& [id, of_job] : watches_) watches.insert(watches.end(), of_job.begin(), of_job.end());
  }
  for (const auto& watch : watches) watch->End(status);
}

void Watches::Remove(const std::shared_ptr<Watch>& watch) {
  absl::MutexLock lock(&mutex_);
  auto found = watches_.find(watch->id());
  if (found == watches_.end()) return;
  found->second.erase(watch);
  if (found->second.empty()) watches_.erase(found);
}

}  // namespace sdp::coordinator
