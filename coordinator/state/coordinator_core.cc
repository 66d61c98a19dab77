#include "coordinator/state/coordinator_core.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "common/base/check.h"
#include "coordinator/state/job_queue.h"

namespace sdp::coordinator {
namespace {

std::string Describe(const AssignmentKey& id) {
  return absl::StrCat("jobs/", id.job.value(), " epoch ", id.epoch.value());
}

std::string Describe(const WorkerRecord& worker) {
  return absl::StrCat("worker ", worker.name.value(), " (incarnation ", worker.incarnation.value(), ")");
}

// ", at most 812.5 MiB of tensors on a worker"; empty when that is not known.
std::string DescribeMemory(const PlanSummary& summary) {
  int64_t largest = 0;
  for (const WorkerCost& worker : summary.workers) largest = std::max(largest, worker.memory.total());
  if (largest == 0) return "";
  return absl::StrFormat(", at most %.1f MiB of tensors on a worker",
                         static_cast<double>(largest) / (1 << 20));
}

std::string DescribePlan(const Plan& plan) {
  const PlanSummary& summary = plan.summary;
  return absl::StrFormat(
      "epoch %d: %s, active ratio %.3g, spectral gap %.3g (bound %.3g), masking error %.3g, every component "
      "on at least %s, %s, %s%s",
      plan.epoch.value(), Count(plan.world_size(), "worker"), summary.active_ratio, summary.spectral_gap,
      summary.spectral_gap_bound, summary.masking_error, Count(summary.coverage_minimum, "worker"),
      Count(plan.holder_sets.size(), "holder set"), Count(plan.buckets.size(), "bucket"),
      DescribeMemory(summary));
}

std::string Describe(const Evaluation& evaluation) {
  const auto [low, high] =
      std::minmax_element(evaluation.subnetwork_losses.begin(), evaluation.subnetwork_losses.end());
  return absl::StrFormat("validation at step %d: full model %.4f nats per token, subnetworks %.4f to %.4f",
                         evaluation.step, evaluation.full_loss, *low, *high);
}

const char* NameOf(const StepReport&) { return "steps"; }
const char* NameOf(const EvaluationReport&) { return "a validation"; }
const char* NameOf(const RendezvousAddress&) { return "an address"; }

RoundEffects Deliver(Round& round, Rank rank, const StepReport& message, absl::Time now) {
  return round.OnStepReport(rank, message, now);
}
RoundEffects Deliver(Round& round, Rank rank, const EvaluationReport& message, absl::Time now) {
  return round.OnEvaluation(rank, message, now);
}
RoundEffects Deliver(Round& round, Rank rank, const RendezvousAddress& message, absl::Time now) {
  return round.OnRendezvous(rank, message, now);
}

}  // namespace

Effects CoordinatorCore::Step(const Event& event, absl::Time now) {
  Effects out;
  std::visit([&](const auto& e) { On(e, now, &out); }, event);
  return out;
}

const CoordinatorCore::JobEntry* CoordinatorCore::FindJob(const JobId& id) const {
  auto found = numbers_.find(id);
  return found == numbers_.end() ? nullptr : &jobs_.at(found->second);
}

CoordinatorCore::JobEntry* CoordinatorCore::MutableJob(const JobId& id) {
  auto found = numbers_.find(id);
  return found == numbers_.end() ? nullptr : &jobs_.at(found->second);
}

void CoordinatorCore::On(const SubmitJob& event, absl::Time now, Effects* out) {
  if (!event.request_id.empty()) {
    auto earlier = request_ids_.find(event.request_id);
    if (earlier != request_ids_.end()) {
      const Job& job = jobs_.at(earlier->second).job;
      absl::Status status;
      if (job.canonical_spec != event.canonical_spec) {
        status = absl::InvalidArgumentError(absl::StrCat("request_id: ", event.request_id,
                                                         " was used for jobs/", job.id.value(),
                                                         ", which has another spec; choose a new one"));
      }
      out->push_back(Reply{status, job.id});
      return;
    }
  }
  if (numbers_.count(event.id) > 0) {
    out->push_back(Reply{
        absl::AlreadyExistsError(absl::StrCat("there is a jobs/", event.id.value(), " already")), event.id});
    return;
  }
  const int64_t number = ++last_number_;
  JobEntry& entry = jobs_[number];
  entry.job.id = event.id;
  entry.job.number = number;
  entry.job.request_id = event.request_id;
  entry.job.canonical_spec = event.canonical_spec;
  entry.job.spec = event.spec;
  entry.job.create_time = now;
  entry.job.progress.total_steps = event.spec->total_steps();
  numbers_[event.id] = number;
  open_.insert(number);
  if (!event.request_id.empty()) request_ids_[event.request_id] = number;
  out->push_back(PersistJob{entry.job});
  AddEvent(entry, {JobEventKind::kStateChanged, "accepted"}, now, out);
  ScheduleQueue(now, out);
  out->push_back(Reply{absl::OkStatus(), event.id});
}

void CoordinatorCore::On(const CancelJob& event, absl::Time now, Effects* out) {
  JobEntry* entry = MutableJob(event.id);
  absl::Status status;
  if (entry == nullptr) {
    status = absl::NotFoundError(absl::StrCat("there is no jobs/", event.id.value()));
  } else {
    const Job& job = entry->job;
    const std::string reason = "cancelled by a user";
    switch (job.state) {
      case JobState::kQueued:
        EndJob(*entry, JobState::kCancelled, reason, now, out);
        ScheduleQueue(now, out);
        break;
      case JobState::kPreparing:
      case JobState::kRunning:
      case JobState::kExporting:
        StopJob(*entry, JobState::kCancelling, reason, now, out);
        break;
      case JobState::kCancelling:
      case JobState::kCancelled:
        break;
      case JobState::kFailing:
      case JobState::kFailed:
      case JobState::kSucceeded:
        status = absl::FailedPreconditionError(
            absl::StrCat("jobs/", job.id.value(), " cannot be cancelled: it is ", JobStateName(job.state),
                         " (", job.state_reason, ")"));
        break;
    }
  }
  out->push_back(Reply{status, event.id});
}

void CoordinatorCore::On(const RegisterWorker& event, absl::Time now, Effects* out) {
  const Registration& registration = event.registration;
  Membership::Admission admission = membership_.Register(registration, event.session, now);
  if (!admission.status.ok()) {
    out->push_back(Log{true, absl::StrCat("refused: ", admission.status.message())});
    out->push_back(CloseSession{event.session, admission.status});
    return;
  }
  if (admission.replaced.has_value()) OnLoss(*admission.replaced, now, out);
  const WorkerRecord& worker = *membership_.BySession(event.session);
  out->push_back(
      Log{false, absl::StrCat(Describe(worker), " registered, reachable at ", worker.data_plane_address)});
  out->push_back(Send{event.session, Welcome{timing_.heartbeat, timing_.lost_after}});
  if (registration.current.has_value() && !IsTerminal(registration.current->phase)) {
    // Its stream broke, so it counted as lost and its job ended for that; or another coordinator process
    // assigned it. Either way it must stop before it can take a job.
    const AssignmentKey& id = registration.current->id;
    const std::string reason = absl::StrCat(
        FindJob(id.job) == nullptr ? "this coordinator does not know " : "its stream broke, so it left ",
        Describe(id));
    membership_.AwaitStop(worker.name, id, absl::StrCat("was told to stop: ", reason), now);
    out->push_back(Send{event.session, Abort{id, reason}});
  }
  ScheduleQueue(now, out);
}

void CoordinatorCore::On(const WorkerMessage& event, absl::Time now, Effects* out) {
  membership_.SignOfLife(event.session, now);
  const WorkerRecord* worker = membership_.BySession(event.session);
  if (worker == nullptr) {
    out->push_back(Log{true, absl::StrCat("ignored a message on stream ", event.session.value(),
                                          ": it is not the current stream of a live worker")});
    return;
  }
  std::visit([&](const auto& message) { OnMessage(*worker, message, now, out); }, event.body);
}

void CoordinatorCore::On(const SessionClosed& event, absl::Time now, Effects* out) {
  const std::optional<Loss> loss = membership_.Disconnect(event.session, event.reason);
  if (!loss.has_value()) return;  // refused, or counted as lost before
  OnLoss(*loss, now, out);
  ScheduleQueue(now, out);
}

void CoordinatorCore::On(const Tick&, absl::Time now, Effects* out) {
  // All losses first, so that one failure explains them together.
  for (const Loss& loss : membership_.Tick(now)) OnLoss(loss, now, out);
  const std::vector<int64_t> open(open_.begin(), open_.end());
  for (int64_t number : open) {
    JobEntry& entry = jobs_.at(number);
    if (entry.round != nullptr) Apply(entry, entry.round->Tick(now), now, out);
  }
  ScheduleQueue(now, out);
}

void CoordinatorCore::OnMessage(const WorkerRecord& worker, const Heartbeat& message, absl::Time, Effects*) {
  membership_.SetMemory(worker.session, message);
}

void CoordinatorCore::OnMessage(const WorkerRecord& worker, const Leave& message, absl::Time now,
                                Effects* out) {
  const SessionId session = worker.session;
  std::optional<Loss> loss = membership_.Disconnect(session, absl::StrCat("it left: ", message.reason));
  OnLoss(*loss, now, out);
  out->push_back(CloseSession{session, absl::OkStatus()});
  ScheduleQueue(now, out);
}

void CoordinatorCore::OnMessage(const WorkerRecord& worker, const AssignmentStatus& message, absl::Time now,
                                Effects* out) {
  if (worker.occupation.has_value() && worker.occupation->stop_deadline.has_value() &&
      worker.occupation->id == message.id) {
    if (!IsTerminal(message.phase)) return;  // said before the Abort reached it
    membership_.Release(worker.name,
                        absl::StrCat("waits for a job; stopped working for ", Describe(message.id)));
    ScheduleQueue(now, out);
    return;
  }
  JobEntry* entry = Expecting(worker, message.id, PhaseName(message.phase), out);
  if (entry == nullptr) return;
  RoundEffects effects = entry->round->OnStatus(worker.occupation->rank, message, now);
  UpdateProgress(*entry);
  Apply(*entry, std::move(effects), now, out);
  ScheduleQueue(now, out);
}

template <typename Message>
void CoordinatorCore::OnMessage(const WorkerRecord& worker, const Message& message, absl::Time now,
                                Effects* out) {
  JobEntry* entry = Expecting(worker, message.id, NameOf(message), out);
  if (entry == nullptr) return;
  RoundEffects effects = Deliver(*entry->round, worker.occupation->rank, message, now);
  UpdateProgress(*entry);
  Apply(*entry, std::move(effects), now, out);
}

CoordinatorCore::JobEntry* CoordinatorCore::Expecting(const WorkerRecord& worker, const AssignmentKey& id,
                                                      const char* what, Effects* out) {
  std::string problem;
  if (!worker.occupation.has_value()) {
    problem = "it has no job";
  } else if (worker.occupation->id != id) {
    problem = absl::StrCat("it works for ", Describe(worker.occupation->id));
  } else if (worker.occupation->stop_deadline.has_value()) {
    problem = "that job has ended";
  } else {
    return MutableJob(id.job);
  }
  out->push_back(Log{true, absl::StrCat("ignored: ", Describe(worker), " reports ", what, " for ",
                                        Describe(id), ", but ", problem)});
  return nullptr;
}

void CoordinatorCore::OnLoss(const Loss& loss, absl::Time now, Effects* out) {
  out->push_back(Log{true, absl::StrCat("worker ", loss.worker.value(), " is lost: ", loss.reason)});
  if (!loss.status.ok()) out->push_back(CloseSession{loss.session, loss.status});
  if (!loss.occupation.has_value() || loss.occupation->stop_deadline.has_value()) return;
  JobEntry* entry = MutableJob(loss.occupation->id.job);
  // An earlier loss of the same moment may have ended the job.
  if (entry->round == nullptr) return;
  Apply(*entry, entry->round->OnLost(loss.occupation->rank, loss.reason, now), now, out);
}

void CoordinatorCore::UpdateProgress(JobEntry& entry) {
  entry.job.progress = entry.round->progress();
  ++entry.progress_version;
}

void CoordinatorCore::Apply(JobEntry& entry, RoundEffects effects, absl::Time now, Effects* out) {
  for (RoundEffect& effect : effects) ApplyOne(entry, effect, now, out);
}

void CoordinatorCore::ApplyOne(JobEntry& entry, RoundEffect& effect, absl::Time now, Effects* out) {
  Job& job = entry.job;
  if (auto* send = std::get_if<SendTo>(&effect)) {
    SendToMember(entry, *send, out);
  } else if (auto* failed = std::get_if<MemberFailed>(&effect)) {
    const WorkerName& worker = job.plan->members[failed->rank].worker;
    AddEvent(entry, {JobEventKind::kWorkerFailed, failed->message, worker, job.progress.step}, now, out);
  } else if (std::holds_alternative<AllReady>(effect)) {
    job.start_time = now;
    TransitionState(entry, JobState::kRunning, "every worker is ready", now, out);
    Apply(entry, entry.round->StartTraining(now), now, out);
  } else if (std::holds_alternative<AllTrained>(effect)) {
    TransitionState(
        entry, JobState::kExporting,
        absl::StrCat("trained ", Count(job.progress.step, "step"), "; the workers write the model"), now,
        out);
  } else if (auto* finished = std::get_if<AllFinished>(&effect)) {
    job.exported_files = std::move(finished->exported_files);
    const std::string files =
        job.exported_files.empty() ? "no files" : absl::StrJoin(job.exported_files, ", ");
    AddEvent(entry, {JobEventKind::kExported, files, WorkerName(), job.progress.step}, now, out);
    EndJob(entry, JobState::kSucceeded,
           absl::StrCat("exported ", Count(job.exported_files.size(), "file"), " to ",
                        job.spec->output_directory),
           now, out);
  } else if (auto* round_failed = std::get_if<RoundFailed>(&effect)) {
    StopJob(entry, JobState::kFailing, round_failed->reason, now, out);
  } else if (std::holds_alternative<AllStopped>(effect)) {
    const JobState end = job.state == JobState::kFailing ? JobState::kFailed : JobState::kCancelled;
    EndJob(entry, end, std::string(job.state_reason), now, out);
  } else if (auto* skipped = std::get_if<StepSkipped>(&effect)) {
    const std::string message =
        absl::StrCat("step ", skipped->step, " was skipped: the loss or a gradient was not finite");
    AddEvent(entry, {JobEventKind::kStepSkipped, message, WorkerName(), skipped->step}, now, out);
  } else if (auto* evaluated = std::get_if<Evaluated>(&effect)) {
    job.evaluation = std::move(evaluated->evaluation);
    out->push_back(PersistJob{job});
    AddEvent(entry, {JobEventKind::kEvaluated, Describe(*job.evaluation), WorkerName(), job.evaluation->step},
             now, out);
  } else if (auto* ignored = std::get_if<Ignored>(&effect)) {
    out->push_back(Log{true, absl::StrCat("ignored in jobs/", job.id.value(), ": ", ignored->reason)});
  }
}

bool CoordinatorCore::IsMember(const AssignmentKey& id, const WorkerName& name) const {
  const WorkerRecord* worker = membership_.Find(name);
  return worker != nullptr && worker->occupation.has_value() && worker->occupation->id == id &&
         !worker->occupation->stop_deadline.has_value();
}

void CoordinatorCore::SendToMember(const JobEntry& entry, SendTo& send, Effects* out) {
  const WorkerName& worker = entry.job.plan->members[send.rank].worker;
  if (!IsMember(entry.round->id(), worker)) return;  // lost at this very moment: the round hears of it next
  out->push_back(Send{membership_.Find(worker)->session, std::move(send.message)});
}

void CoordinatorCore::StartJob(JobEntry& entry, const std::vector<WorkerName>& workers, absl::Time now,
                               Effects* out) {
  Job& job = entry.job;
  const AssignmentKey id{job.id, Epoch(1)};
  std::vector<PlanMember> members;
  for (const WorkerName& name : workers) {
    members.push_back(MemberOf(*membership_.Find(name)));
  }
  const std::string who = absl::StrCat(Count(workers.size(), "worker"), ": ", ListNames(workers));
  absl::StatusOr<Plan> plan = planner_(*job.spec, std::move(members), id.epoch, /*first_step=*/0);
  if (!plan.ok()) {
    EndJob(entry, JobState::kFailed,
           absl::StrCat("no plan is possible for ", who, ": ", plan.status().message()), now, out);
    return;
  }
  job.plan = std::make_shared<const Plan>(*std::move(plan));
  entry.round = std::make_unique<Round>(id, job.spec, job.plan, timing_, now);
  for (Rank rank = 0; rank < job.plan->world_size(); ++rank) {
    membership_.Occupy(job.plan->members[rank].worker, Occupation{id, rank, std::nullopt},
                       absl::StrCat("works for jobs/", job.id.value()));
  }
  TransitionState(entry, JobState::kPreparing, absl::StrCat("starts on ", who), now, out);
  AddEvent(entry, {JobEventKind::kPlanned, DescribePlan(*job.plan)}, now, out);
  Apply(entry, entry.round->Begin(), now, out);
}

void CoordinatorCore::StopJob(JobEntry& entry, JobState state, const std::string& reason, absl::Time now,
                              Effects* out) {
  TransitionState(entry, state, reason, now, out);
  Apply(entry, entry.round->Stop(reason, now), now, out);
}

void CoordinatorCore::EndJob(JobEntry& entry, JobState state, const std::string& reason, absl::Time now,
                             Effects* out) {
  Job& job = entry.job;
  job.end_time = now;
  open_.erase(job.number);
  TransitionState(entry, state, reason, now, out);
  if (entry.round == nullptr) return;
  const std::unique_ptr<Round> round = std::move(entry.round);
  for (Rank rank = 0; rank < round->plan().world_size(); ++rank) {
    const WorkerName& worker = round->plan().members[rank].worker;
    if (!IsMember(round->id(), worker)) continue;
    if (round->done(rank)) {
      membership_.Release(worker, absl::StrCat("waits for a job; worked for jobs/", job.id.value()));
    } else {
      membership_.AwaitStop(
          worker, round->id(),
          absl::StrCat("was told to stop working for jobs/", job.id.value(), " and has not answered"), now);
    }
  }
}

void CoordinatorCore::TransitionState(JobEntry& entry, JobState to, const std::string& reason, absl::Time now,
                                      Effects* out) {
  SDP_CHECK(CheckTransition(entry.job.state, to).ok(), "not in the transition table");
  entry.job.state = to;
  entry.job.state_reason = reason;
  out->push_back(PersistJob{entry.job});
  AddEvent(entry, {JobEventKind::kStateChanged, reason, WorkerName(), entry.job.progress.step}, now, out);
}

void CoordinatorCore::AddEvent(JobEntry& entry, JobEvent event, absl::Time now, Effects* out) {
  event.time = now;
  event.state = entry.job.state;
  out->push_back(PersistEvent{entry.job.id, entry.events.Append(std::move(event))});
}

void CoordinatorCore::ScheduleQueue(absl::Time now, Effects* out) {
  while (true) {
    std::vector<QueuedJob> queue;
    for (int64_t number : open_) {
      const JobEntry& entry = jobs_.at(number);
      if (entry.job.state != JobState::kQueued) continue;
      const WorkersSpec& workers = entry.job.spec->workers;
      queue.push_back(QueuedJob{entry.job.id, workers.min, workers.max});
    }
    const QueueDecision decision = DecideQueue(queue, membership_.Idle());
    if (decision.start.has_value()) {
      StartJob(*MutableJob(decision.start->id), decision.start->workers, now, out);
      continue;
    }
    for (const auto& [id, reason] : decision.waits) {
      JobEntry& entry = *MutableJob(id);
      if (entry.job.state_reason == reason) continue;
      entry.job.state_reason = reason;
      out->push_back(PersistJob{entry.job});
      AddEvent(entry, {JobEventKind::kWaiting, reason}, now, out);
    }
    return;
  }
}

}  // namespace sdp::coordinator
