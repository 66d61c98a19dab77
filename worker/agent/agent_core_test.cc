#include "worker/agent/agent_core.h"

#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace sdp::agent {
namespace {

// Drives a core through a story and writes down what it decides, a line per effect; notes are left out.
class Story {
 public:
  std::string Tell(const Event& event, absl::Duration later = absl::ZeroDuration()) {
    now_ += later;
    std::vector<std::string> lines;
    for (const Effect& effect : core_.Step(event, now_)) {
      std::string line = std::visit([](const auto& e) { return Line(e); }, effect);
      if (!line.empty()) lines.push_back(line);
    }
    return absl::StrJoin(lines, "; ");
  }
  // A Tick at the moment that the core asked for.
  std::string TickWhenDue() {
    const absl::Time due = core_.next_tick();
    EXPECT_NE(due, absl::InfiniteFuture());
    if (due > now_) now_ = due;
    return Tell(Tick{});
  }
  void Register() {
    ASSERT_EQ(TickWhenDue(), "open stream");
    ASSERT_EQ(Tell(Welcomed{absl::Seconds(1)}), "");
    ASSERT_EQ(state(), State::kIdle);
  }
  void Train(const AssignmentKey& key) {
    Tell(AssignmentReceived{key});
    Tell(SessionReady{key});
    Tell(StartReceived{key});
    ASSERT_EQ(state(), State::kRunning);
  }
  State state() const { return core_.state(); }
  absl::Duration until_tick() const { return core_.next_tick() - now_; }

 private:
  static std::string Key(const AssignmentKey& key) {
    return absl::StrCat(key.job.value(), "/", key.epoch.value());
  }
  static std::string Line(const OpenStream&) { return "open stream"; }
  static std::string Line(const CloseStream&) { return "close stream"; }
  static std::string Line(const SendHeartbeat&) { return "heartbeat"; }
  static std::string Line(const SendStatus& e) {
    return absl::StrCat("status ", Key(e.key), " ", PhaseName(e.phase),
                        e.error.ok() ? "" : absl::StrCat(" (", e.error.message(), ")"));
  }
  static std::string Line(const SendStepReport& e) { return absl::StrCat("steps ", Key(e.key)); }
  static std::string Line(const SendLeave& e) { return absl::StrCat("leave: ", e.reason); }
  static std::string Line(const StartSession& e) { return absl::StrCat("start session ", Key(e.key)); }
  static std::string Line(const ReleaseSession& e) { return absl::StrCat("release session ", Key(e.key)); }
  static std::string Line(const AbortSession& e) {
    return absl::StrCat("abort session ", Key(e.key), ": ", e.reason);
  }
  static std::string Line(const DropSession& e) { return absl::StrCat("drop session ", Key(e.key)); }
  static std::string Line(const Note&) { return ""; }
  static std::string Line(const Exit& e) { return absl::StrCat("exit ", e.status.ToString()); }

  AgentCore core_{Options()};
  absl::Time now_ = absl::FromUnixSeconds(1000);
};

AssignmentKey Key(const std::string& job, int epoch = 1) { return {JobId(job), Epoch(epoch)}; }

TEST(AgentCore, RunsOneJobAfterAnother) {
  Story story;
  story.Register();
  for (const char* job : {"a", "b"}) {
    const std::string id = absl::StrCat(job, "/1");
    EXPECT_EQ(story.Tell(AssignmentReceived{Key(job)}),
              absl::StrCat("status ", id, " preparing; start session ", id));
    EXPECT_EQ(story.Tell(SessionReady{Key(job)}), absl::StrCat("status ", id, " ready"));
    EXPECT_EQ(story.Tell(StartReceived{Key(job)}),
              absl::StrCat("status ", id, " running; release session ", id));
    EXPECT_EQ(story.Tell(Tick{}, absl::Milliseconds(250)), absl::StrCat("steps ", id));
    EXPECT_EQ(story.Tell(SessionEnded{Key(job), absl::OkStatus()}),
              absl::StrCat("steps ", id, "; status ", id, " finished; drop session ", id));
    EXPECT_EQ(story.state(), State::kIdle);
    story.Tell(Tick{}, absl::Seconds(1));  // the heartbeat that fell due meanwhile
  }
}

TEST(AgentCore, HeartbeatsAtTheCoordinatorsInterval) {
  Story story;
  story.Register();
  EXPECT_EQ(story.until_tick(), absl::Seconds(1));
  EXPECT_EQ(story.TickWhenDue(), "heartbeat");
  EXPECT_EQ(story.TickWhenDue(), "heartbeat");
}

TEST(AgentCore, AFailedSessionIsReportedWithItsReasonAndFreesTheWorker) {
  Story story;
  story.Register();
  story.Tell(AssignmentReceived{Key("a")});
  EXPECT_EQ(story.Tell(SessionEnded{Key("a"), absl::NotFoundError("train.bin: no such file")}),
            "status a/1 failed (train.bin: no such file); drop session a/1");
  EXPECT_EQ(story.state(), State::kIdle);
}

TEST(AgentCore, AbortsInEveryStateOfWork) {
  for (int stage = 0; stage < 3; ++stage) {
    Story story;
    story.Register();
    story.Tell(AssignmentReceived{Key("a")});
    if (stage > 0) story.Tell(SessionReady{Key("a")});
    if (stage > 1) story.Tell(StartReceived{Key("a")});
    EXPECT_EQ(story.Tell(AbortReceived{Key("a"), "cancelled"}), "abort session a/1: cancelled");
    EXPECT_EQ(story.Tell(AbortReceived{Key("a"), "again"}), "") << "an abort is carried out once";
    EXPECT_EQ(story.Tell(SessionEnded{Key("a"), absl::CancelledError("cancelled")}),
              "steps a/1; status a/1 aborted; drop session a/1");
    EXPECT_EQ(story.state(), State::kIdle);
  }
}

TEST(AgentCore, AnswersAnAbortOfWorkItDoesNotHave) {
  Story story;
  story.Register();
  EXPECT_EQ(story.Tell(AbortReceived{Key("old"), "failed"}), "status old/1 aborted");
  story.Train(Key("a", 2));
  EXPECT_EQ(story.Tell(AbortReceived{Key("a", 1), "failed"}), "status a/1 aborted")
      << "another epoch is other work";
  EXPECT_EQ(story.state(), State::kRunning);
}

TEST(AgentCore, RefusesASecondAssignment) {
  Story story;
  story.Register();
  story.Train(Key("a"));
  EXPECT_EQ(story.Tell(AssignmentReceived{Key("b")}),
            "status b/1 failed (this worker still works on job a epoch 1)");
  EXPECT_EQ(story.state(), State::kRunning);
}

TEST(AgentCore, IgnoresAStartOfAnotherEpochOrBeforeItIsReady) {
  Story story;
  story.Register();
  story.Tell(AssignmentReceived{Key("a", 2)});
  EXPECT_EQ(story.Tell(StartReceived{Key("a", 2)}), "");
  story.Tell(SessionReady{Key("a", 2)});
  EXPECT_EQ(story.Tell(StartReceived{Key("a", 1)}), "");
  EXPECT_EQ(story.state(), State::kReady);
}

TEST(AgentCore, ALostStreamEndsTheWorkAndReconnectsAfterIt) {
  Story story;
  story.Register();
  story.Train(Key("a"));
  EXPECT_EQ(story.Tell(StreamEnded{absl::UnavailableError("reset")}),
            "abort session a/1: the stream to the coordinator ended: reset");
  EXPECT_EQ(story.Tell(SessionEnded{Key("a"), absl::CancelledError("")}), "drop session a/1");
  EXPECT_EQ(story.TickWhenDue(), "open stream");
}

TEST(AgentCore, BacksOffWhileTheCoordinatorIsAway) {
  Story story;
  absl::Duration longest;
  for (int attempt = 0; attempt < 20; ++attempt) {
    ASSERT_EQ(story.TickWhenDue(), "open stream");
    story.Tell(StreamEnded{absl::UnavailableError("refused")});
    EXPECT_GT(story.until_tick(), absl::ZeroDuration());
    longest = std::max(longest, story.until_tick());
  }
  EXPECT_LE(longest, Options().reconnect_maximum);
  EXPECT_GT(longest, Options().reconnect_maximum / 2);
  story.Register();
}

TEST(AgentCore, ExitsWhenItCanNeverBeAccepted) {
  Story story;
  story.TickWhenDue();
  EXPECT_EQ(story.Tell(StreamEnded{absl::FailedPreconditionError("protocol 2, not 1")}),
            "close stream; exit FAILED_PRECONDITION: the coordinator refused this worker: protocol 2, not 1");
}

TEST(AgentCore, WaitsForItsOldProcessToBeForgottenButNotForEver) {
  Story story;
  std::string last;
  int attempts = 0;
  while (story.state() != State::kExiting && attempts < 1000) {
    ASSERT_EQ(story.TickWhenDue(), "open stream");
    last = story.Tell(StreamEnded{absl::AlreadyExistsError("a is taken")});
    ++attempts;
  }
  EXPECT_EQ(last, "close stream; exit ALREADY_EXISTS: a is taken");
  EXPECT_GT(attempts, 3);
}

TEST(AgentCore, ShutsDownAtOnceWhenIdleAndAfterTheAbortWhenWorking) {
  Story idle;
  idle.Register();
  EXPECT_EQ(idle.Tell(ShutdownRequested{"SIGTERM"}), "leave: SIGTERM; close stream; exit OK");

  Story working;
  working.Register();
  working.Train(Key("a"));
  EXPECT_EQ(working.Tell(ShutdownRequested{"SIGTERM"}),
            "leave: SIGTERM; abort session a/1: this worker is leaving: SIGTERM");
  EXPECT_EQ(working.Tell(SessionEnded{Key("a"), absl::CancelledError("")}),
            "drop session a/1; close stream; exit OK");
}

}  // namespace
}  // namespace sdp::agent
