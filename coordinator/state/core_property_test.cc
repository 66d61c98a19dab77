// Random histories of the core: whatever happens in whatever order, the invariants hold and every job ends.
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "coordinator/state/coordinator_core.h"
#include "coordinator/state/transcript.h"
#include "gtest/gtest.h"
#include "rapidcheck.h"

namespace sdp::coordinator {
namespace {

constexpr int kWorkers = 4;
constexpr int kJobs = 5;

// Uniform in [low, high) in every case: RapidCheck's own ranges begin with small numbers, and so with short
// histories in which nothing happens.
template <typename T>
T Draw(T low, T high) {
  return *rc::gen::resize(rc::kNominalSize, rc::gen::inRange<T>(low, high));
}

// A core with everything that it has said, checked after every event.
class History {
 public:
  History() : core_(Timing(), PlanForTest) {}

  CoordinatorCore& core() { return core_; }

  void Step(const Event& event) {
    const Effects effects = core_.Step(event, now_);
    for (const Effect& effect : effects) Check(effect);
    CheckWorkers();
    CheckJobs();
  }
  void Pass(absl::Duration duration) {
    now_ += duration;
    Step(Tick{});
  }

  // The last assignment on a session; empty when there was none.
  std::optional<Assignment> AssignmentOn(SessionId session) const {
    auto found = assignments_.find(session);
    if (found == assignments_.end()) return std::nullopt;
    return found->second;
  }

 private:
  void Check(const Effect& effect) {
    if (auto* event = std::get_if<PersistEvent>(&effect)) {
      RC_ASSERT(event->event.sequence == ++last_sequence_[event->job]);
      RC_ASSERT(!event->event.message.empty());
      RC_ASSERT(stored_.count(event->job) == 1u);  // the job is stored before its event
      RC_ASSERT(stored_.at(event->job).state == event->event.state);
    } else if (auto* job = std::get_if<PersistJob>(&effect)) {
      auto before = stored_.find(job->job.id);
      if (before != stored_.end()) {
        const JobState from = before->second.state;
        RC_ASSERT(from == job->job.state || CheckTransition(from, job->job.state).ok());
        RC_ASSERT(!IsEnded(from));  // what has ended is never written again
      }
      stored_[job->job.id] = job->job;
    } else if (auto* send = std::get_if<Send>(&effect)) {
      RC_ASSERT(closed_.count(send->session) == 0u);
      CheckMessage(*send);
    } else if (auto* close = std::get_if<CloseSession>(&effect)) {
      RC_ASSERT(closed_.insert(close->session).second);
    }
  }

  void CheckMessage(const Send& send) {
    if (auto* assignment = std::get_if<Assignment>(&send.message)) {
      RC_ASSERT(stored_.at(assignment->id.job).state == JobState::kPreparing);
      assignments_[send.session] = *assignment;
    } else if (auto* start = std::get_if<Start>(&send.message)) {
      RC_ASSERT(stored_.at(start->id.job).state == JobState::kRunning);
    } else if (auto* abort = std::get_if<Abort>(&send.message)) {
      RC_ASSERT(!abort->reason.empty());
    } else if (auto* address = std::get_if<RendezvousAddress>(&send.message)) {
      RC_ASSERT(address->rank != assignments_.at(send.session).rank);  // nobody gets its own
    }
  }

  // A busy worker works for one active job, of which it is a member; or is being waited for to stop.
  void CheckWorkers() {
    for (const auto& [name, worker] : core_.membership().workers()) {
      RC_ASSERT(worker.occupation.has_value() == (worker.state == WorkerState::kBusy));
      RC_ASSERT(!worker.state_reason.empty());
      if (!worker.occupation.has_value() || worker.occupation->stop_deadline.has_value()) continue;
      const CoordinatorCore::JobEntry* entry = core_.FindJob(worker.occupation->id.job);
      RC_ASSERT(entry != nullptr && entry->round != nullptr);
      RC_ASSERT(entry->round->id() == worker.occupation->id);
      const PlanMember& member = entry->job.plan->members[worker.occupation->rank];
      RC_ASSERT(member.worker == name && member.incarnation == worker.incarnation);
    }
  }

  // Active jobs and only they have a round; the members that are not lost are busy with it.
  void CheckJobs() {
    std::set<WorkerName> taken;
    for (const auto& [number, entry] : core_.jobs()) {
      const bool active = !IsEnded(entry.job.state) && entry.job.state != JobState::kQueued;
      RC_ASSERT(active == (entry.round != nullptr));
      RC_ASSERT(stored_.at(entry.job.id).state == entry.job.state);
      RC_ASSERT(entry.job.end_time.has_value() == IsEnded(entry.job.state));
      if (!active) continue;
      for (Rank rank = 0; rank < entry.round->plan().world_size(); ++rank) {
        if (entry.round->lost(rank)) continue;
        const WorkerName& name = entry.job.plan->members[rank].worker;
        RC_ASSERT(taken.insert(name).second);
        const WorkerRecord* worker = core_.membership().Find(name);
        RC_ASSERT(worker->occupation.has_value() && worker->occupation->id == entry.round->id());
      }
    }
  }

  CoordinatorCore core_;
  absl::Time now_ = absl::UnixEpoch();
  std::map<JobId, int64_t> last_sequence_;
  std::map<JobId, Job> stored_;
  std::map<SessionId, Assignment> assignments_;
  std::set<SessionId> closed_;
};

// Draws and applies one event. Workers mostly behave, and sometimes say what does not fit at all.
class Generator {
 public:
  explicit Generator(History* history) : history_(*history) {}

  void Next() {
    switch (Draw(0, 24)) {
      case 0:
        return Submit();
      case 1:
        return history_.Step(CancelJob{SomeJob()});
      case 2:
      case 3:
        return Register();
      case 4:
        return history_.Step(SessionClosed{SomeSession(), "its stream broke"});
      case 5:
        return history_.Pass(absl::Milliseconds(*rc::gen::element(0, 10, 100, 100, 1000, 6000, 700000)));
      case 6:
        return Send(Heartbeat());
      case 7:
        return Send(Leave{"bye"});
      case 8:
        return ReportSteps();
      case 9:
        return SendAddress();
      case 10:
        return ReportStatus();
      default:
        return Behave();
    }
  }

 private:
  // A worker says what is expected of it next.
  void Behave() {
    const SessionId session = SomeSession();
    const auto assignment = history_.AssignmentOn(session);
    if (!assignment.has_value()) return Register();
    AssignmentStatus status;
    status.id = assignment->id;
    status.plan_digest = assignment->plan->digest;
    switch (history_.core().FindJob(assignment->id.job)->job.state) {
      case JobState::kPreparing:
        status.phase = AssignmentPhase::kReady;
        break;
      case JobState::kRunning:
        status.phase = AssignmentPhase::kExporting;
        break;
      case JobState::kExporting:
        status.phase = AssignmentPhase::kFinished;
        break;
      default:
        status.phase = AssignmentPhase::kAborted;
    }
    history_.Step(WorkerMessage{session, status});
  }

  void Submit() {
    auto spec = std::make_shared<JobSpec>();
    spec->workers.min = Draw(1, kWorkers + 2);
    spec->workers.max = spec->workers.min + Draw(0, 3);
    spec->stop_steps = 30;
    spec->seed = Draw<uint64_t>(10, 15);
    const std::string request = *rc::gen::element<std::string>("", "", "r1", "r2");
    history_.Step(SubmitJob{SomeJob(), request, *rc::gen::element<std::string>("x", "y"), spec});
  }

  void Register() {
    RegisterWorker event;
    event.session = SessionId(++last_session_);
    event.registration.worker = WorkerName(absl::StrCat("w", Draw(0, kWorkers)));
    event.registration.incarnation = Incarnation(Draw<uint64_t>(1, 4));
    if (Draw(0, 4) == 0) {
      AssignmentStatus current;
      current.id = {SomeJob(), Epoch(Draw<int64_t>(1, 3))};
      current.phase = SomePhase();
      event.registration.current = current;
    }
    history_.Step(event);
  }

  // The id of the session's assignment, or sometimes of another one.
  AssignmentKey KeyOn(SessionId session) {
    const auto assignment = history_.AssignmentOn(session);
    if (!assignment.has_value() || Draw(0, 8) == 0) {
      return {SomeJob(), Epoch(Draw<int64_t>(0, 3))};
    }
    return assignment->id;
  }

  void ReportStatus() {
    const SessionId session = SomeSession();
    AssignmentStatus status;
    status.id = KeyOn(session);
    status.phase = SomePhase();
    status.plan_digest = Draw(0, 20) == 0 ? "odd" : "digest-1";
    status.committed_steps = Draw<int64_t>(0, 40);
    status.error = absl::InternalError("broken");
    if (Draw(0, 2) == 0) status.suspected_worker = WorkerName("w0");
    if (Draw(0, 20) == 0) status.shards = {{"/other", 1, "aa"}};
    history_.Step(WorkerMessage{session, status});
  }

  void ReportSteps() {
    const SessionId session = SomeSession();
    StepReport report;
    report.id = KeyOn(session);
    report.committed_steps = Draw<int64_t>(0, 40);
    report.phase = static_cast<StepPhase>(Draw(0, static_cast<int>(StepPhase::kExport) + 1));
    const bool skipped = Draw(0, 2) == 0;
    for (int64_t step = 0; step < report.committed_steps; ++step) {
      report.steps.push_back({step, 1.0, 10, 0.1, 1.0, skipped});
    }
    history_.Step(WorkerMessage{session, report});
    EvaluationReport evaluation;
    evaluation.id = report.id;
    evaluation.outcome.step = report.committed_steps / 10;
    history_.Step(WorkerMessage{session, evaluation});
  }

  void SendAddress() {
    const SessionId session = SomeSession();
    RendezvousAddress message;
    message.id = KeyOn(session);
    const auto assignment = history_.AssignmentOn(session);
    message.rank = assignment.has_value() ? assignment->rank : Draw(-1, kWorkers);
    message.address = std::string(Draw(0, 20) == 0 ? kMaxRendezvousBytes + 1 : 3, 'a');
    history_.Step(WorkerMessage{session, message});
  }

  template <typename Body>
  void Send(Body body) {
    history_.Step(WorkerMessage{SomeSession(), std::move(body)});
  }

  JobId SomeJob() { return JobId(absl::StrCat("j", Draw(0, kJobs))); }
  SessionId SomeSession() {
    // Mostly one that is in use.
    std::vector<SessionId> live;
    for (const auto& [name, worker] : history_.core().membership().workers()) live.push_back(worker.session);
    if (live.empty() || Draw(0, 10) == 0) {
      return SessionId(Draw<int64_t>(0, last_session_ + 2));
    }
    return live[Draw<size_t>(0, live.size())];
  }
  // Mostly ready, so that jobs get to train.
  AssignmentPhase SomePhase() {
    return *rc::gen::weightedElement<AssignmentPhase>({{1, AssignmentPhase::kPreparing},
                                                       {8, AssignmentPhase::kReady},
                                                       {2, AssignmentPhase::kRunning},
                                                       {2, AssignmentPhase::kExporting},
                                                       {4, AssignmentPhase::kFinished},
                                                       {1, AssignmentPhase::kFailed},
                                                       {2, AssignmentPhase::kAborted}});
  }

  History& history_;
  int64_t last_session_ = 0;
};

// States that the random histories have been in; a property about states never reached says nothing.
std::set<JobState>& Visited() {
  static auto& visited = *new std::set<JobState>();
  return visited;
}

TEST(CorePropertyTest, InvariantsHoldAndEveryJobEnds) {
  const bool holds = rc::check("random histories", [] {
    History history;
    Generator generator(&history);
    const int events = Draw(0, 300);
    for (int i = 0; i < events; ++i) {
      generator.Next();
      for (const auto& [number, entry] : history.core().jobs()) Visited().insert(entry.job.state);
    }
    // Whatever state it is in: cancelling and letting time pass ends every job, without any worker's help.
    std::vector<JobId> jobs;
    for (const auto& [number, entry] : history.core().jobs()) jobs.push_back(entry.job.id);
    for (int round = 0; round < 2; ++round) {
      for (const JobId& job : jobs) history.Step(CancelJob{job});
      for (int i = 0; i < 12; ++i) history.Pass(absl::Seconds(1));
    }
    for (const auto& [number, entry] : history.core().jobs()) RC_ASSERT(IsEnded(entry.job.state));
    // And half a minute later nobody is busy any more.
    for (int i = 0; i < 40; ++i) history.Pass(absl::Seconds(1));
    for (const auto& [name, worker] : history.core().membership().workers()) {
      RC_ASSERT(worker.state != WorkerState::kBusy);
    }
  });
  EXPECT_TRUE(holds);
  EXPECT_EQ(Visited().size(), AllJobStates().size());
}

TEST(CorePropertyTest, ActiveJobsEndByThemselvesWhenWorkersFallSilent) {
  const bool holds = rc::check("silent workers", [] {
    History history;
    Generator generator(&history);
    const int events = Draw(0, 300);
    for (int i = 0; i < events; ++i) generator.Next();
    for (int i = 0; i < 30; ++i) history.Pass(absl::Seconds(1));
    for (const auto& [number, entry] : history.core().jobs()) {
      RC_ASSERT(IsEnded(entry.job.state) || entry.job.state == JobState::kQueued);
    }
  });
  EXPECT_TRUE(holds);
}

}  // namespace
}  // namespace sdp::coordinator
