#include "coordinator/state/transcript.h"

#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "common/base/check.h"

namespace sdp::coordinator {
namespace {

std::string ShowKey(const AssignmentKey& id) { return absl::StrCat(id.job.value(), "/", id.epoch.value()); }

struct ShowMessage {
  std::string operator()(const Welcome& m) const {
    return absl::StrCat("Welcome heartbeat ", absl::FormatDuration(m.heartbeat), " lost after ",
                        absl::FormatDuration(m.lost_after));
  }
  std::string operator()(const Assignment& m) const {
    return absl::StrCat("Assignment ", ShowKey(m.id), " rank ", m.rank, " of ", m.plan->world_size());
  }
  std::string operator()(const Start& m) const { return absl::StrCat("Start ", ShowKey(m.id)); }
  std::string operator()(const Abort& m) const {
    return absl::StrCat("Abort ", ShowKey(m.id), ": ", m.reason);
  }
  std::string operator()(const RendezvousAddress& m) const {
    return absl::StrCat("Rendezvous ", ShowKey(m.id), " rank ", m.rank, " ", m.address);
  }
};

AssignmentPhase ParsePhase(const std::string& text) {
  for (int i = 0; i <= static_cast<int>(AssignmentPhase::kAborted); ++i) {
    if (text == PhaseName(static_cast<AssignmentPhase>(i))) return static_cast<AssignmentPhase>(i);
  }
  SDP_CHECK(false, "transcript: no such phase");
  return AssignmentPhase::kPreparing;
}

StepPhase ParseStepPhase(std::string text) {
  std::replace(text.begin(), text.end(), '_', ' ');
  for (int i = 0; i <= static_cast<int>(StepPhase::kExport); ++i) {
    if (text == PhaseName(static_cast<StepPhase>(i))) return static_cast<StepPhase>(i);
  }
  SDP_CHECK(false, "transcript: no such step phase");
  return StepPhase::kNone;
}

absl::Duration ParseDuration(const std::string& text) {
  absl::Duration duration;
  SDP_CHECK(absl::ParseDuration(text, &duration), "transcript: not a duration");
  return duration;
}

}  // namespace

absl::StatusOr<Plan> PlanForTest(const JobSpec& spec, std::vector<PlanMember> members, Epoch epoch,
                                 int64_t first_step) {
  if (spec.seed == kUnplannableSeed) return absl::InvalidArgumentError("this seed brings bad luck");
  const int workers = static_cast<int>(members.size());
  Plan plan;
  plan.epoch = epoch;
  plan.members = std::move(members);
  plan.mask = Mask::Full(workers, 1);
  plan.holder_sets.emplace_back();
  for (Rank rank = 0; rank < workers; ++rank) plan.holder_sets[0].push_back(rank);
  plan.first_step = first_step;
  plan.digest = absl::StrCat("digest-", epoch.value());
  plan.summary.active_ratio = 1;
  plan.summary.spectral_gap = 1;
  plan.summary.spectral_gap_bound = 1;
  plan.summary.coverage_minimum = workers;
  return plan;
}

std::string Show(const Effect& effect, const std::map<SessionId, std::string>& sessions) {
  if (auto* persist = std::get_if<PersistJob>(&effect)) {
    return absl::StrCat("save ", persist->job.id.value(), " ", JobStateName(persist->job.state));
  }
  if (auto* persist = std::get_if<PersistEvent>(&effect)) {
    const JobEvent& event = persist->event;
    return absl::StrCat("event ", persist->job.value(), " #", event.sequence, " ", JobStateName(event.state),
                        " ", JobEventKindName(event.kind), ": ", event.message);
  }
  if (auto* send = std::get_if<Send>(&effect)) {
    return absl::StrCat(sessions.at(send->session), " <- ", std::visit(ShowMessage(), send->message));
  }
  if (auto* close = std::get_if<CloseSession>(&effect)) {
    return absl::StrCat(sessions.at(close->session), " <- end ", close->status.ToString());
  }
  if (auto* reply = std::get_if<Reply>(&effect)) {
    return absl::StrCat("reply ", reply->job.value(), " ", reply->status.ToString());
  }
  const Log& log = std::get<Log>(effect);
  return absl::StrCat(log.warning ? "warning: " : "log: ", log.text);
}

// "verb word... key=value... flag"
class TranscriptRunner::Arguments {
 public:
  explicit Arguments(const Words& words) {
    for (const std::string& word : words) {
      const std::vector<std::string> parts = absl::StrSplit(word, absl::MaxSplits('=', 1));
      if (parts.size() == 2) {
        named_[parts[0]] = parts[1];
        std::replace(named_[parts[0]].begin(), named_[parts[0]].end(), '_', ' ');
      } else {
        words_.push_back(word);
      }
    }
  }
  size_t size() const { return words_.size(); }
  const std::string& operator[](size_t i) const {
    SDP_CHECK(i < words_.size(), "transcript: an argument is missing");
    return words_[i];
  }
  bool Flag(const std::string& name) const {
    return std::find(words_.begin(), words_.end(), name) != words_.end();
  }
  std::string Text(const std::string& name, const std::string& otherwise) const {
    auto found = named_.find(name);
    return found == named_.end() ? otherwise : found->second;
  }
  double Number(const std::string& name, double otherwise) const {
    double value = otherwise;
    auto found = named_.find(name);
    SDP_CHECK(found == named_.end() || absl::SimpleAtod(found->second, &value), "transcript: not a number");
    return value;
  }

 private:
  Words words_;
  std::map<std::string, std::string> named_;
};

TranscriptRunner::TranscriptRunner() : core_(Timing(), PlanForTest) {}

std::string TranscriptRunner::Run(const std::string& transcript) {
  const Words lines = absl::StrSplit(transcript, '\n');
  for (const std::string& line : lines) {
    if (absl::StartsWith(line, "#") || line.empty()) {
      // Blank lines and comments stay where they are; blank lines at the end do not add up.
      output_ += line + "\n";
    } else if (absl::StartsWith(line, "> ")) {
      output_ += line + "\n";
      Command(line.substr(2));
    }
  }
  while (absl::EndsWith(output_, "\n\n")) output_.pop_back();
  return output_;
}

void TranscriptRunner::Command(const std::string& line) {
  Words words = absl::StrSplit(line, ' ', absl::SkipEmpty());
  const std::string verb = words[0];
  words.erase(words.begin());
  const Arguments arguments(words);
  if (verb == "register") return Register(arguments);
  if (verb == "submit") return Submit(arguments);
  if (verb == "cancel") return Apply(CancelJob{JobId(arguments[0])});
  if (verb == "status") return Status(arguments[0], ParsePhase(arguments[1]), arguments);
  if (verb == "ready") {
    for (size_t i = 0; i < arguments.size(); ++i) Status(arguments[i], AssignmentPhase::kReady, arguments);
    return;
  }
  if (verb == "step") return Step(arguments);
  if (verb == "evaluate") return Evaluate(arguments);
  if (verb == "address") return Address(arguments);
  if (verb == "close") {
    Find(arguments[0]).open = false;
    return Apply(SessionClosed{Find(arguments[0]).session, "its stream broke"});
  }
  if (verb == "leave") {
    return Apply(WorkerMessage{Find(arguments[0]).session, Leave{"it was told to shut down"}});
  }
  if (verb == "mute") {
    Find(arguments[0]).mute = true;
    return;
  }
  if (verb == "tick") {
    now_ += ParseDuration(arguments[0]);
    return Apply(Tick{});
  }
  if (verb == "run") return RunFor(ParseDuration(arguments[0]));
  if (verb == "jobs") return ShowJobs();
  if (verb == "workers") return ShowWorkers();
  SDP_CHECK(false, "transcript: no such command");
}

void TranscriptRunner::Apply(const Event& event) {
  const absl::Duration time = now_ - absl::UnixEpoch();
  for (const Effect& effect : core_.Step(event, now_)) {
    if (auto* send = std::get_if<Send>(&effect)) {
      if (auto* assignment = std::get_if<Assignment>(&send->message)) {
        for (auto& process : processes_) {
          if (process->session == send->session) process->assignment = *assignment;
        }
      }
    }
    if (auto* close = std::get_if<CloseSession>(&effect)) {
      for (auto& process : processes_) process->open = process->open && process->session != close->session;
    }
    Say(absl::StrFormat("%6s  %s", absl::FormatDuration(time), Show(effect, labels_)));
  }
}

void TranscriptRunner::Register(const Arguments& arguments) {
  auto process = std::make_unique<Process>();
  process->name = arguments[0];
  process->label = absl::StrCat(arguments[0], "/", arguments[1]);
  process->session = SessionId(++last_session_);
  const bool again = std::any_of(processes_.begin(), processes_.end(),
                                 [&](const auto& p) { return p->label == process->label; });
  labels_[process->session] = process->label + (again ? " (new stream)" : "");
  RegisterWorker event;
  event.session = process->session;
  event.registration.worker = WorkerName(process->name);
  uint64_t incarnation = 0;
  SDP_CHECK(absl::SimpleAtoi(arguments[1], &incarnation), "transcript: not an incarnation");
  event.registration.incarnation = Incarnation(incarnation);
  event.registration.data_plane_address = absl::StrCat("host-", process->name);
  const std::string current = arguments.Text("current", "");
  if (!current.empty()) {
    const std::vector<std::string> parts = absl::StrSplit(current, absl::ByAnyChar("/:"));
    SDP_CHECK(parts.size() == 3, "transcript: current=JOB/EPOCH:PHASE");
    AssignmentStatus status;
    int64_t epoch = 0;
    SDP_CHECK(absl::SimpleAtoi(parts[1], &epoch), "transcript: not an epoch");
    status.id = {JobId(parts[0]), Epoch(epoch)};
    status.phase = ParsePhase(parts[2]);
    process->assignment.id = status.id;
    event.registration.current = status;
  }
  processes_.push_back(std::move(process));
  Apply(event);
}

void TranscriptRunner::Submit(const Arguments& arguments) {
  auto spec = std::make_shared<JobSpec>();
  spec->workers.min = static_cast<int>(arguments.Number("min", 1));
  spec->workers.max = static_cast<int>(arguments.Number("max", spec->workers.min));
  spec->stop_steps = static_cast<int64_t>(arguments.Number("steps", 300));
  spec->seed = static_cast<uint64_t>(arguments.Number("seed", 0));
  spec->output_directory = "/out";
  Apply(SubmitJob{JobId(arguments[0]), arguments.Text("request", ""),
                  arguments.Flag("other_spec") ? "other spec" : "spec", spec});
}

void TranscriptRunner::Status(const std::string& worker, AssignmentPhase phase, const Arguments& arguments) {
  const Process& process = Find(worker);
  AssignmentStatus status;
  status.id = KeyOf(process, arguments);
  status.phase = phase;
  status.plan_digest = arguments.Text("digest", absl::StrCat("digest-", status.id.epoch.value()));
  status.committed_steps = static_cast<int64_t>(arguments.Number("steps", 0));
  if (phase == AssignmentPhase::kFailed) {
    status.error = absl::Status(static_cast<absl::StatusCode>(static_cast<int>(arguments.Number("code", 13))),
                                arguments.Text("error", "something broke"));
    status.suspected_worker = WorkerName(arguments.Text("suspects", ""));
  } else if (phase == AssignmentPhase::kReady) {
    status.shards.push_back({arguments.Text("file", "/data/train.bin"),
                             static_cast<int64_t>(arguments.Number("bytes", 1000)),
                             arguments.Text("hash", "00ff00ff00ff00ff")});
  } else if (phase == AssignmentPhase::kFinished) {
    status.exported_files.push_back(absl::StrCat("model-", process.assignment.rank, ".safetensors"));
  }
  Apply(WorkerMessage{process.session, status});
}

void TranscriptRunner::Step(const Arguments& arguments) {
  const Process& process = Find(arguments[0]);
  StepReport report;
  report.id = KeyOf(process, arguments);
  SDP_CHECK(absl::SimpleAtoi(arguments[1], &report.committed_steps), "transcript: not a number of steps");
  report.phase = ParseStepPhase(arguments.Text("phase", "between steps"));
  report.step_seconds = arguments.Number("seconds", 0);
  const int64_t known =
      core_.FindJob(report.id.job) == nullptr ? 0 : core_.FindJob(report.id.job)->job.progress.step;
  for (int64_t step = known; process.assignment.rank == 0 && step < report.committed_steps; ++step) {
    report.steps.push_back({step, arguments.Number("loss", 2.5), 4096, 1e-3, 1.0, arguments.Flag("skipped")});
  }
  Apply(WorkerMessage{process.session, report});
}

void TranscriptRunner::Evaluate(const Arguments& arguments) {
  const Process& process = Find(arguments[0]);
  EvaluationReport report;
  report.id = KeyOf(process, arguments);
  SDP_CHECK(absl::SimpleAtoi(arguments[1], &report.outcome.step), "transcript: not a step");
  SDP_CHECK(absl::SimpleAtod(arguments[2], &report.outcome.full_loss), "transcript: not a loss");
  report.outcome.subnetwork_loss = report.outcome.full_loss + 0.1 * process.assignment.rank;
  report.outcome.tokens = 1000;
  Apply(WorkerMessage{process.session, report});
}

void TranscriptRunner::Address(const Arguments& arguments) {
  const Process& process = Find(arguments[0]);
  RendezvousAddress message;
  message.id = KeyOf(process, arguments);
  message.rank = static_cast<Rank>(arguments.Number("rank", process.assignment.rank));
  message.address = arguments.size() > 1
                        ? arguments[1]
                        : std::string(static_cast<size_t>(arguments.Number("bytes", 4)), 'x');
  Apply(WorkerMessage{process.session, message});
}

void TranscriptRunner::RunFor(absl::Duration duration) {
  for (const absl::Time end = now_ + duration; now_ < end;) {
    now_ += absl::Milliseconds(100);
    if (now_ >= next_heartbeats_) {
      next_heartbeats_ = now_ + absl::Seconds(1);
      for (size_t i = 0; i < processes_.size(); ++i) {
        if (processes_[i]->open && !processes_[i]->mute)
          Apply(WorkerMessage{processes_[i]->session, Heartbeat()});
      }
    }
    Apply(Tick{});
  }
}

void TranscriptRunner::ShowJobs() {
  for (const auto& [number, entry] : core_.jobs()) {
    const Job& job = entry.job;
    std::string line = absl::StrCat(job.id.value(), " ", JobStateName(job.state), " step ", job.progress.step,
                                    "/", job.progress.total_steps);
    if (job.progress.tokens > 0) {
      absl::StrAppend(&line, absl::StrFormat(" loss %.2f tokens %d", job.progress.loss, job.progress.tokens));
    }
    Say(absl::StrCat(line, ": ", job.state_reason));
  }
}

void TranscriptRunner::ShowWorkers() {
  for (const auto& [name, worker] : core_.membership().workers()) {
    Say(absl::StrCat(name.value(), "/", worker.incarnation.value(), " ", WorkerStateName(worker.state), ": ",
                     worker.state_reason));
  }
}

TranscriptRunner::Process& TranscriptRunner::Find(const std::string& worker) {
  for (auto process = processes_.rbegin(); process != processes_.rend(); ++process) {
    if ((*process)->label == worker || (*process)->name == worker) return **process;
  }
  SDP_CHECK(false, "transcript: no such worker");
  return *processes_.front();
}

AssignmentKey TranscriptRunner::KeyOf(const Process& process, const Arguments& arguments) const {
  AssignmentKey key = process.assignment.id;
  key.job = JobId(arguments.Text("job", key.job.value()));
  key.epoch = Epoch(static_cast<int64_t>(arguments.Number("epoch", static_cast<double>(key.epoch.value()))));
  return key;
}

void TranscriptRunner::Say(const std::string& line) { output_ += "  " + line + "\n"; }

}  // namespace sdp::coordinator
