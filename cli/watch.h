// Following a job to its end.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "cli/client.h"
#include "cli/session.h"
#include "sdp/v1/job.pb.h"

namespace sdp::cli {

// Shows a job's events and progress on the error stream: on a terminal the progress is one line that is
// rewritten, elsewhere a plain line every few seconds.
class WatchView {
 public:
  explicit WatchView(Environment& environment) : environment_(environment) {}

  void ShowEvent(const v1::JobEvent& event);
  void ShowProgress(const v1::JobProgress& progress, absl::Time now);
  // A remark of the program itself.
  void ShowNote(const std::string& note);
  // Leaves the terminal with the cursor on a fresh line, and shows the last progress if it was not shown.
  void Close();

 private:
  void ShowLine(const std::string& line);
  void EraseProgress();
  void DrawProgress();

  Environment& environment_;
  std::string progress_;        // the latest progress line
  bool progress_shown_ = true;  // whether progress_ has been written
  bool on_screen_ = false;      // whether the terminal's last line is a progress line
  absl::Time last_plain_ = absl::InfinitePast();
};

// Follows the job until it has ended and returns it. `view` may be null. Survives an absence of the
// coordinator. Errors: DEADLINE_EXCEEDED after `timeout` (zero: none), CANCELLED when interrupted; both say
// that the job goes on and how to follow it again. Else those of Client.
absl::StatusOr<v1::Job> FollowJob(Client& client, Session& session, const std::string& name,
                                  absl::Duration timeout, WatchView* view);

}  // namespace sdp::cli
