#include "cli/watch.h"

#include <algorithm>
#include <cstdint>
#include <ostream>
#include <utility>

#include "absl/strings/str_cat.h"
#include "cli/format/job_text.h"
#include "cli/format/units.h"
#include "common/base/clock.h"
#include "common/base/utf8.h"
#include "common/rpc/status.h"

namespace sdp::cli {
namespace {

constexpr absl::Duration kPlainInterval = absl::Seconds(5);
constexpr absl::Duration kFirstRetry = absl::Milliseconds(200);
constexpr absl::Duration kLongestRetry = absl::Seconds(5);
constexpr absl::Duration kLongestConnect = absl::Seconds(30);  // of gRPC, with its own retries

// One try at following: a stream until it ends.
class Follower {
 public:
  Follower(Client& client, Session& session, const std::string& name, absl::Duration timeout, WatchView* view)
      : client_(client),
        session_(session),
        name_(name),
        timeout_(timeout),
        view_(view),
        start_(clock_.Now()) {}

  absl::StatusOr<v1::Job> Run() {
    absl::Duration retry = kFirstRetry;
    while (true) {
      heard_ = false;
      const absl::Time try_start = clock_.Now();
      const absl::Status status = Stream();
      if (ended_) return std::move(final_job_);
      if (session_.environment.interrupt.triggered()) return Detached();
      if (TimeIsUp(status)) return StillGoesOn();
      // A try that lasted so long was connected, even when the job had nothing to tell.
      if (heard_ || clock_.Now() - try_start > kLongestConnect) {
        retry = kFirstRetry;
        lost_since_ = clock_.Now();
      }
      if (!WorthRetrying(status)) return client_.Explain(status);
      NoteLoss();
      if (session_.environment.interrupt.WaitFor(std::min(retry, TimeLeft()))) return Detached();
      retry = std::min(2 * retry, kLongestRetry);
    }
  }

 private:
  absl::Status Stream() {
    grpc::ClientContext context;
    if (timeout_ > absl::ZeroDuration()) SetDeadline(context, TimeLeft());
    v1::WatchJobRequest request;
    request.set_name(name_);
    request.set_after_sequence(last_sequence_);
    InterruptibleCall interruptible(session_.environment.interrupt, context);
    const auto stream = client_.jobs().WatchJob(&context, request);
    v1::WatchJobResponse response;
    while (stream->Read(&response)) Take(response);
    return FromGrpc(stream->Finish());
  }

  void Take(const v1::WatchJobResponse& response) {
    if (lost_ && view_ != nullptr) view_->ShowNote("the coordinator is back");
    lost_ = false;
    heard_ = true;
    if (response.has_event()) {
      last_sequence_ = response.event().sequence();
      if (view_ != nullptr) view_->ShowEvent(response.event());
    } else if (response.has_progress()) {
      if (view_ != nullptr) view_->ShowProgress(response.progress(), clock_.Now());
    } else if (response.has_final_job()) {
      ended_ = true;
      final_job_ = response.final_job();
    }
  }

  // A stream that worked once may come back: the coordinator restarts, or the network recovers. OK without an
  // end is a coordinator that shut down in good order.
  bool WorthRetrying(const absl::Status& status) const {
    if (!status.ok() && status.code() != absl::StatusCode::kUnavailable) return false;
    return clock_.Now() - lost_since_ < session_.environment.reconnect_for;
  }

  bool TimeIsUp(const absl::Status& status) const {
    return timeout_ > absl::ZeroDuration() &&
           (status.code() == absl::StatusCode::kDeadlineExceeded || TimeLeft() <= absl::ZeroDuration()) &&
           (heard_ || lost_since_ != absl::InfinitePast());
  }

  absl::Duration TimeLeft() const {
    return timeout_ > absl::ZeroDuration() ? start_ + timeout_ - clock_.Now() : absl::InfiniteDuration();
  }

  void NoteLoss() {
    if (!lost_ && view_ != nullptr)
      view_->ShowNote("lost the coordinator; the job goes on. Trying again ...");
    lost_ = true;
  }

  std::string HowToReattach() const {
    return absl::StrCat(name_, " goes on.\nFollow it:  ", session_.CommandText("job watch " + name_),
                        "\nCancel it:  ", session_.CommandText("job cancel " + name_));
  }

  absl::Status Detached() const { return absl::CancelledError(absl::StrCat("detached; ", HowToReattach())); }
  absl::Status StillGoesOn() const {
    return absl::DeadlineExceededError(
        absl::StrCat("not ended after ", ShortDuration(timeout_), "; ", HowToReattach()));
  }

  Client& client_;
  Session& session_;
  const std::string name_;
  const absl::Duration timeout_;
  WatchView* const view_;
  const Clock clock_;
  const absl::Time start_;
  int64_t last_sequence_ = 0;
  bool heard_ = false;                            // in the current try
  absl::Time lost_since_ = absl::InfinitePast();  // end of the last stream that was connected
  bool lost_ = false;                             // the user was told so
  bool ended_ = false;
  v1::Job final_job_;
};

}  // namespace

void WatchView::ShowEvent(const v1::JobEvent& event) {
  std::string line = EventLine(event, environment_.time_zone);
  if (environment_.color) {
    const bool bad = event.state() == v1::JOB_STATE_FAILING || event.state() == v1::JOB_STATE_FAILED ||
                     event.kind() == v1::JOB_EVENT_KIND_WORKER_FAILED;
    const char* color = bad ? "\033[31m" : event.state() == v1::JOB_STATE_SUCCEEDED ? "\033[32m" : "";
    if (*color != '\0') line = absl::StrCat(color, line, "\033[0m");
  }
  ShowLine(line);
}

void WatchView::ShowNote(const std::string& note) { ShowLine(absl::StrCat("sdpctl: ", note)); }

void WatchView::ShowProgress(const v1::JobProgress& progress, absl::Time now) {
  progress_ = ProgressLine(progress);
  progress_shown_ = false;
  if (environment_.err_is_terminal) {
    EraseProgress();
    DrawProgress();
  } else if (now - last_plain_ >= kPlainInterval) {
    last_plain_ = now;
    ShowLine(progress_);
    progress_shown_ = true;
  }
}

void WatchView::Close() {
  if (on_screen_) {
    environment_.err << '\n' << std::flush;
    on_screen_ = false;
  } else if (!progress_shown_) {
    ShowLine(progress_);
  }
  progress_shown_ = true;
}

void WatchView::ShowLine(const std::string& line) {
  const bool redraw = on_screen_;
  EraseProgress();
  environment_.err << line << '\n';
  if (redraw) DrawProgress();
  environment_.err << std::flush;
}

void WatchView::EraseProgress() {
  if (on_screen_) environment_.err << "\r\033[K";
  on_screen_ = false;
}

void WatchView::DrawProgress() {
  // One column stays free: a full line would wrap, and could not be erased.
  environment_.err << CutUtf8(progress_, static_cast<size_t>(environment_.terminal_columns - 1))
                   << std::flush;
  on_screen_ = true;
  progress_shown_ = true;
}

absl::StatusOr<v1::Job> FollowJob(Client& client, Session& session, const std::string& name,
                                  absl::Duration timeout, WatchView* view) {
  absl::StatusOr<v1::Job> job = Follower(client, session, name, timeout, view).Run();
  if (view != nullptr) view->Close();
  return job;
}

}  // namespace sdp::cli
