#include "cli/watch.h"

#include <atomic>
#include <sstream>
#include <string>
#include <vector>

#include "cli/sdpctl_fixture.h"
#include "gmock/gmock.h"

namespace sdp::cli {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

using Watch = SdpctlTest;

TEST_F(Watch, ExitCodeSaysHowTheJobEnded) {
  v1::JobState end = v1::JOB_STATE_SUCCEEDED;
  coordinator_.watch_job = [&](const v1::WatchJobRequest& request, const FakeCoordinator::Send& send) {
    EXPECT_EQ(request.name(), "jobs/a");
    send(Final(end));
    return absl::OkStatus();
  };
  EXPECT_EQ(Run({"job", "watch", "a"}).code, kExitOk);
  EXPECT_EQ(Run({"job", "wait", "a"}).code, kExitOk);
  end = v1::JOB_STATE_FAILED;
  EXPECT_EQ(Run({"job", "watch", "a"}).code, kExitFailed);
  end = v1::JOB_STATE_CANCELLED;
  EXPECT_EQ(Run({"job", "wait", "a"}).code, kExitFailed);
}

TEST_F(Watch, CtrlCDetachesAndSaysHowToReattach) {
  coordinator_.watch_job = [&](const v1::WatchJobRequest&, const FakeCoordinator::Send& send) {
    send(Event(1, "planned"));
    interrupt_.Trigger();
    coordinator_.Hang();
    return absl::OkStatus();
  };
  const Result result = Run({"job", "watch", "a"});
  EXPECT_EQ(result.code, kExitInterrupted);
  EXPECT_EQ(result.out, "");
  EXPECT_THAT(result.err, HasSubstr("jobs/a goes on.\n"));
  EXPECT_THAT(result.err, HasSubstr("sdpctl job watch jobs/a --coordinator " + coordinator_.address()));
}

TEST_F(Watch, CtrlCBeforeTheJobExistsIsJustThat) {
  interrupt_.Trigger();
  const Result result = Run({"job", "submit", "-f", SpecFile(), "--watch"});
  EXPECT_EQ(result.code, kExitInterrupted);
  EXPECT_THAT(result.err, HasSubstr("interrupted"));
}

TEST_F(Watch, TimeoutLeavesTheJobAlone) {
  coordinator_.watch_job = [&](const v1::WatchJobRequest&, const FakeCoordinator::Send& send) {
    send(Event(1, "planned"));
    coordinator_.Hang();
    return absl::OkStatus();
  };
  const Result result = RunIntoTimeout({"job", "wait", "a"}, "goes on");
  EXPECT_EQ(result.code, kExitTimeout);
  EXPECT_THAT(result.err, HasSubstr("jobs/a goes on.\n"));
}

TEST_F(Watch, ALostCoordinatorThatComesBackCostsNoEvent) {
  std::vector<int64_t> after;
  coordinator_.watch_job = [&](const v1::WatchJobRequest& request,
                               const FakeCoordinator::Send& send) -> absl::Status {
    after.push_back(request.after_sequence());
    switch (after.size()) {
      case 1:
        send(Event(1, "first"));
        send(Event(2, "second"));
        return absl::UnavailableError("restarting");
      case 2:
        send(Event(3, "third"));
        return absl::OkStatus();  // a shutdown in good order
      default:
        send(Event(4, "fourth"));
        send(Final(v1::JOB_STATE_SUCCEEDED));
        return absl::OkStatus();
    }
  };
  const Result result = Run({"job", "watch", "a"});
  EXPECT_EQ(result.code, kExitOk);
  EXPECT_THAT(after, ElementsAre(0, 2, 3));
  for (const char* text :
       {"first", "second", "third", "fourth", "lost the coordinator", "the coordinator is back"}) {
    EXPECT_THAT(result.err, HasSubstr(text));
  }
}

TEST_F(Watch, ACoordinatorThatStaysAwayIsAnError) {
  reconnect_for_ = absl::ZeroDuration();
  coordinator_.watch_job = [&](const v1::WatchJobRequest&, const FakeCoordinator::Send& send) {
    send(Event(1, "first"));
    return absl::UnavailableError("gone");
  };
  const Result result = Run({"job", "watch", "a"});
  EXPECT_EQ(result.code, kExitUnreachable);
  EXPECT_THAT(result.err, HasSubstr("cannot reach the coordinator at " + coordinator_.address()));
}

TEST_F(Watch, AJobThatIsNotThereEndsAtOnce) {
  coordinator_.watch_job = [](const v1::WatchJobRequest&, const FakeCoordinator::Send&) {
    return absl::NotFoundError("no job jobs/a");
  };
  const Result result = Run({"job", "watch", "a"});
  EXPECT_EQ(result.code, kExitNotFound);
  EXPECT_THAT(result.err, HasSubstr("no job jobs/a"));
}

TEST_F(Watch, OnATerminalTheProgressIsOneLineThatIsRewritten) {
  terminal_ = true;
  coordinator_.watch_job = [](const v1::WatchJobRequest&, const FakeCoordinator::Send& send) {
    send(Progress(10));
    send(Event(1, "validated"));
    send(Progress(20));
    send(Final(v1::JOB_STATE_SUCCEEDED));
    return absl::OkStatus();
  };
  const Result result = Run({"job", "watch", "a"});
  // 39 of the 40 columns: a full line would wrap.
  const std::string ten = "step 10/100 10%  loss 2.5000  0 tokens/";
  const std::string twenty = "step 20/100 20%  loss 2.5000  0 tokens/";
  EXPECT_EQ(result.err,
            ten + "\r\033[K" + "00:00:00  running     validated\n" + ten + "\r\033[K" + twenty + "\n");
}

v1::JobProgress AtStep(int64_t step) {
  v1::JobProgress progress;
  progress.set_step(step);
  return progress;
}

TEST(WatchView, OffATerminalThereIsALineEveryFewSecondsAndTheLast) {
  std::istringstream in;
  std::ostringstream out, err;
  Interrupt interrupt;
  Environment environment{in, out, err, interrupt};
  WatchView view(environment);
  const absl::Time start = absl::UnixEpoch();
  for (int second = 0; second <= 12; ++second)
    view.ShowProgress(AtStep(second + 1), start + absl::Seconds(second));
  view.Close();
  std::vector<std::string> steps;
  std::istringstream lines(err.str());
  for (std::string line; std::getline(lines, line);) steps.push_back(line.substr(0, line.find("/")));
  EXPECT_THAT(steps, ElementsAre("step 1", "step 6", "step 11", "step 13"));
}

TEST(WatchView, ColorsOnlyWhenAsked) {
  std::istringstream in;
  std::ostringstream out, err;
  Interrupt interrupt;
  Environment environment{in, out, err, interrupt};
  v1::JobEvent event;
  event.set_state(v1::JOB_STATE_FAILED);
  WatchView(environment).ShowEvent(event);
  EXPECT_THAT(err.str(), Not(HasSubstr("\033")));
  environment.color = true;
  WatchView(environment).ShowEvent(event);
  EXPECT_THAT(err.str(), HasSubstr("\033[31m"));
}

}  // namespace
}  // namespace sdp::cli
