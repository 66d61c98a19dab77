#include "coordinator/state/round.h"

#include <algorithm>
#include <limits>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/base/check.h"
#include "coordinator/state/job_queue.h"

namespace sdp::coordinator {
namespace {

bool HasLost(const std::vector<FailureEvidence>& evidence) {
  return std::any_of(evidence.begin(), evidence.end(), [](const FailureEvidence& e) { return e.lost; });
}

}  // namespace

Round::Round(AssignmentKey id, std::shared_ptr<const JobSpec> spec, std::shared_ptr<const Plan> plan,
             const Timing& timing, absl::Time now)
    : id_(std::move(id)),
      spec_(std::move(spec)),
      plan_(std::move(plan)),
      timing_(timing),
      members_(plan_->members.size()),
      progress_(*plan_, spec_->total_steps()),
      // A worker's own report at its deadline knows more than this one, so it gets a moment longer.
      prepare_deadline_(now + timing.prepare_timeout + kFailureGrace) {}

RoundEffects Round::Begin() const {
  RoundEffects effects;
  for (Rank rank = 0; rank < plan_->world_size(); ++rank) {
    effects.push_back(SendTo{
        rank, Assignment{id_, spec_, plan_, rank, timing_.prepare_timeout, timing_.collective_timeout}});
  }
  return effects;
}

RoundEffects Round::StartTraining(absl::Time now) {
  SDP_CHECK(stage_ == Stage::kReady, "training starts once, when all members are ready");
  stage_ = Stage::kTraining;
  last_progress_ = now;
  progress_.Start(now);
  addresses_.clear();
  RoundEffects effects;
  for (Rank rank = 0; rank < plan_->world_size(); ++rank) effects.push_back(SendTo{rank, Start{id_}});
  return effects;
}

RoundEffects Round::Stop(const std::string& reason, absl::Time now) {
  SDP_CHECK(!Stopping(), "a round stops once");
  stage_ = Stage::kStopping;
  stop_time_ = now;
  RoundEffects effects;
  for (Rank rank = 0; rank < plan_->world_size(); ++rank) {
    if (!done(rank)) effects.push_back(SendTo{rank, Abort{id_, reason}});
  }
  CheckStopped(now, &effects);
  return effects;
}

RoundEffects Round::OnStatus(Rank rank, const AssignmentStatus& status, absl::Time now) {
  RoundEffects effects;
  Member& member = members_[rank];
  const std::string name = NameOf(rank).value();
  if (done(rank)) {
    effects.push_back(
        Ignored{absl::StrCat(name, " reports ", PhaseName(status.phase), " after its work had ended")});
    return effects;
  }
  Hear(rank, &effects);
  progress_.SetCommitted(rank, status.committed_steps);
  if (status.phase == AssignmentPhase::kFailed || status.phase == AssignmentPhase::kAborted) {
    member.phase = status.phase;
    if (Stopping()) {
      CheckStopped(now, &effects);
    } else {
      const absl::Status error = status.phase == AssignmentPhase::kFailed
                                     ? status.error
                                     : absl::CancelledError("it stopped without being told to");
      AddEvidence({NameOf(rank), /*lost=*/false, error, status.suspected_worker}, rank, now, &effects);
    }
    return effects;
  }
  if (status.phase < member.phase) {
    effects.push_back(Ignored{
        absl::StrCat(name, " reports ", PhaseName(status.phase), " after ", PhaseName(member.phase))});
    return effects;
  }
  const bool trains = status.phase > AssignmentPhase::kReady;
  const bool echoes = status.phase != AssignmentPhase::kPreparing || !status.plan_digest.empty();
  absl::Status problem;
  if (trains && (stage_ == Stage::kPreparing || stage_ == Stage::kReady)) {
    problem = absl::FailedPreconditionError(
        absl::StrCat("it reported ", PhaseName(status.phase), " before it was told to start"));
  } else if (echoes && status.plan_digest != plan_->digest) {
    problem = absl::FailedPreconditionError(absl::StrCat(
        "it follows another plan: digest '", status.plan_digest, "' instead of '", plan_->digest, "'"));
  }
  if (!problem.ok() && !Failing()) {
    // Its phase stays as it was: it still has to be aborted.
    AddEvidence({NameOf(rank), /*lost=*/false, problem, WorkerName()}, rank, now, &effects);
    return effects;
  }
  member.phase = status.phase;
  if (status.phase == AssignmentPhase::kReady) member.shards = status.shards;
  if (status.phase == AssignmentPhase::kFinished) member.exported_files = status.exported_files;
  if (stage_ == Stage::kTraining || stage_ == Stage::kExporting) last_progress_ = now;
  if (Stopping()) {
    CheckStopped(now, &effects);
  } else {
    Advance(&effects);
  }
  return effects;
}

RoundEffects Round::OnStepReport(Rank rank, const StepReport& report, absl::Time now) {
  RoundEffects effects;
  const std::string name = NameOf(rank).value();
  if (stage_ == Stage::kPreparing || stage_ == Stage::kReady) {
    effects.push_back(Ignored{absl::StrCat(name, " reports steps before it was told to start")});
    return effects;
  }
  if (report.committed_steps < progress().workers[rank].step) {
    effects.push_back(Ignored{absl::StrCat(name, " reports ", report.committed_steps,
                                           " committed steps after ", progress().workers[rank].step)});
    return effects;
  }
  const ProgressTracker::Update update = progress_.Add(rank, report, now);
  if (update.moved) last_progress_ = now;
  const AssignmentPhase implied =
      report.phase == StepPhase::kExport ? AssignmentPhase::kExporting : AssignmentPhase::kRunning;
  if (members_[rank].phase < implied) {
    members_[rank].phase = implied;
    Advance(&effects);
  }
  for (int64_t step : update.skipped) effects.push_back(StepSkipped{step});
  if (!Failing() && progress_.consecutive_skipped() >= kMaxConsecutiveSkipped) {
    effects.push_back(RoundFailed{absl::StrCat(
        "the loss or a gradient was not finite in ", progress_.consecutive_skipped(),
        " steps in a row, the last of them step ", update.skipped.back(),
        "; lower the learning rate, lengthen the warm-up or set a clip norm, and check the data")});
  }
  return effects;
}

RoundEffects Round::OnEvaluation(Rank rank, const EvaluationReport& report, absl::Time now) {
  RoundEffects effects;
  const std::string name = NameOf(rank).value();
  if (stage_ == Stage::kPreparing || stage_ == Stage::kReady) {
    effects.push_back(Ignored{absl::StrCat(name, " reports a validation before it was told to start")});
    return effects;
  }
  last_progress_ = now;
  const int64_t step = report.outcome.step;
  auto& outcomes = evaluations_[step];
  outcomes[rank] = report.outcome;
  if (outcomes.size() == members_.size()) {
    Evaluation evaluation;
    evaluation.step = step;
    evaluation.full_loss = outcomes.begin()->second.full_loss;
    evaluation.tokens = outcomes.begin()->second.tokens;
    for (const auto& [member, part] : outcomes) evaluation.subnetwork_losses.push_back(part.subnetwork_loss);
    evaluations_.erase(evaluations_.begin(), evaluations_.upper_bound(step));
    effects.push_back(Evaluated{std::move(evaluation)});
  } else if (evaluations_.size() > 2) {
    effects.push_back(Ignored{absl::StrCat("the validation at step ", evaluations_.begin()->first,
                                           " was never reported by all members")});
    evaluations_.erase(evaluations_.begin());
  }
  return effects;
}

RoundEffects Round::OnRendezvous(Rank rank, const RendezvousAddress& message, absl::Time now) {
  RoundEffects effects;
  const std::string name = NameOf(rank).value();
  if (stage_ != Stage::kPreparing || Failing()) {
    effects.push_back(Ignored{absl::StrCat(name, " sends an address while nobody is connecting")});
    return effects;
  }
  if (message.rank != rank) {
    effects.push_back(
        Ignored{absl::StrCat(name, " has rank ", rank, " but sends an address of rank ", message.rank)});
    return effects;
  }
  Hear(rank, &effects);
  if (message.address.size() > kMaxRendezvousBytes) {
    const absl::Status error =
        absl::ResourceExhaustedError(absl::StrCat("its rendezvous address has ", message.address.size(),
                                                  " bytes; at most ", kMaxRendezvousBytes, " are relayed"));
    AddEvidence({NameOf(rank), /*lost=*/false, error, WorkerName()}, rank, now, &effects);
    return effects;
  }
  addresses_[rank] = message.address;
  for (Rank other = 0; other < plan_->world_size(); ++other) {
    if (other != rank && members_[other].heard && !done(other)) effects.push_back(SendTo{other, message});
  }
  return effects;
}

RoundEffects Round::OnLost(Rank rank, const std::string& reason, absl::Time now) {
  RoundEffects effects;
  const bool was_done = done(rank);
  members_[rank].lost = true;
  if (Stopping()) {
    CheckStopped(now, &effects);
  } else if (!was_done) {
    AddEvidence({NameOf(rank), /*lost=*/true, absl::UnavailableError(reason), WorkerName()}, rank, now,
                &effects);
  }
  return effects;
}

RoundEffects Round::Tick(absl::Time now) {
  RoundEffects effects;
  if (stage_ == Stage::kStopping) {
    CheckStopped(now, &effects);
  } else if (stage_ == Stage::kStopped || stage_ == Stage::kFinished) {
    return effects;
  } else if (!evidence_.empty()) {
    bool all_done = true;
    for (Rank rank = 0; rank < plan_->world_size(); ++rank) all_done = all_done && done(rank);
    // A loss explains everything, but others may be lost at the same time: until the next tick.
    const bool loss_explains = HasLost(evidence_) && now > first_evidence_;
    if (all_done || loss_explains || now - first_evidence_ >= kFailureGrace) {
      effects.push_back(RoundFailed{DescribeRootCause(evidence_, When())});
    }
  } else {
    CheckDeadlines(now, &effects);
  }
  return effects;
}

std::string Round::When() const {
  const std::string step = absl::StrCat("step ", progress().step, " of ", progress().total_steps);
  switch (stage_) {
    case Stage::kPreparing:
    case Stage::kReady:
      return "while preparing";
    case Stage::kExporting:
    case Stage::kFinished:
      return absl::StrCat("while writing the model, after ", step);
    default:
      return absl::StrCat("at ", step);
  }
}

bool Round::AllReached(AssignmentPhase phase) const {
  return std::all_of(members_.begin(), members_.end(), [phase](const Member& member) {
    // Who has finished may go.
    if (member.lost && member.phase != AssignmentPhase::kFinished) return false;
    return member.phase >= phase && member.phase <= AssignmentPhase::kFinished;
  });
}

void Round::Hear(Rank rank, RoundEffects* effects) {
  if (members_[rank].heard) return;
  members_[rank].heard = true;
  if (stage_ != Stage::kPreparing || Failing()) return;
  for (const auto& [other, address] : addresses_) {
    effects->push_back(SendTo{rank, RendezvousAddress{id_, other, address}});
  }
}

void Round::AddEvidence(FailureEvidence evidence, Rank rank, absl::Time now, RoundEffects* effects) {
  if (evidence_.empty()) first_evidence_ = now;
  effects->push_back(MemberFailed{rank, DescribeRootCause({evidence}, When())});
  evidence_.push_back(std::move(evidence));
}

void Round::Advance(RoundEffects* effects) {
  if (Failing()) return;
  if (stage_ == Stage::kPreparing && AllReached(AssignmentPhase::kReady)) CheckReady(effects);
  if (stage_ == Stage::kTraining && AllReached(AssignmentPhase::kExporting)) {
    stage_ = Stage::kExporting;
    effects->push_back(AllTrained{});
  }
  if (stage_ == Stage::kExporting && AllReached(AssignmentPhase::kFinished)) {
    stage_ = Stage::kFinished;
    AllFinished finished;
    for (const Member& member : members_) {
      finished.exported_files.insert(finished.exported_files.end(), member.exported_files.begin(),
                                     member.exported_files.end());
    }
    std::sort(finished.exported_files.begin(), finished.exported_files.end());
    effects->push_back(std::move(finished));
  }
}

void Round::CheckReady(RoundEffects* effects) {
  std::vector<std::pair<WorkerName, std::vector<ShardFingerprint>>> seen;
  for (Rank rank = 0; rank < plan_->world_size(); ++rank) {
    seen.emplace_back(NameOf(rank), members_[rank].shards);
  }
  std::string mismatch = DescribeFingerprintMismatch(seen);
  if (mismatch.empty()) {
    stage_ = Stage::kReady;
    effects->push_back(AllReady{});
  } else {
    effects->push_back(RoundFailed{std::move(mismatch)});
  }
}

void Round::CheckStopped(absl::Time now, RoundEffects* effects) {
  if (stage_ != Stage::kStopping) return;
  bool all_done = true;
  for (Rank rank = 0; rank < plan_->world_size(); ++rank) all_done = all_done && done(rank);
  if (!all_done && now < stop_time_ + kAbortTimeout) return;
  stage_ = Stage::kStopped;
  effects->push_back(AllStopped{});
}

void Round::CheckDeadlines(absl::Time now, RoundEffects* effects) const {
  if (stage_ == Stage::kPreparing && now >= prepare_deadline_) {
    effects->push_back(
        RoundFailed{absl::StrCat("not all workers were ready within ",
                                 absl::FormatDuration(timing_.prepare_timeout), ": ", DescribeUnready())});
  } else if ((stage_ == Stage::kTraining || stage_ == Stage::kExporting) &&
             now - last_progress_ >= ProgressTimeout()) {
    effects->push_back(RoundFailed{absl::StrCat("no progress for ", absl::FormatDuration(ProgressTimeout()),
                                                " ", When(), ": ", DescribeLaggards())});
  }
}

absl::Duration Round::ProgressTimeout() const {
  const auto& workers = progress().workers;
  const bool long_phase =
      stage_ == Stage::kExporting || std::any_of(workers.begin(), workers.end(), [](const auto& worker) {
        return worker.phase == StepPhase::kEvaluate || worker.phase == StepPhase::kExport;
      });
  const absl::Duration measured = absl::Seconds(20 * progress().step_seconds);
  return std::max(long_phase ? timing_.long_phase_timeout : timing_.progress_timeout, measured);
}

std::string Round::DescribeUnready() const {
  std::vector<WorkerName> silent, preparing;
  for (Rank rank = 0; rank < plan_->world_size(); ++rank) {
    if (members_[rank].phase >= AssignmentPhase::kReady) continue;
    (members_[rank].heard ? preparing : silent).push_back(NameOf(rank));
  }
  std::vector<std::string> parts;
  if (!preparing.empty()) parts.push_back(absl::StrCat("still preparing: ", ListNames(preparing)));
  if (!silent.empty()) parts.push_back(absl::StrCat("never answered: ", ListNames(silent)));
  return absl::StrJoin(parts, "; ");
}

std::string Round::DescribeLaggards() const {
  // Whoever is furthest behind keeps the others waiting.
  using Position = std::tuple<AssignmentPhase, int64_t, StepPhase>;
  std::map<Position, std::vector<WorkerName>> positions;
  for (Rank rank = 0; rank < plan_->world_size(); ++rank) {
    const WorkerProgress& worker = progress().workers[rank];
    positions[{members_[rank].phase, worker.step, worker.phase}].push_back(NameOf(rank));
  }
  std::vector<std::string> parts;
  for (const auto& [position, names] : positions) {
    const auto& [phase, step, step_phase] = position;
    const std::string what = phase == AssignmentPhase::kRunning ? PhaseName(step_phase) : PhaseName(phase);
    parts.push_back(absl::StrCat(names.size() == 1 ? "worker " : "workers ", ListNames(names),
                                 names.size() == 1 ? " is" : " are", " at step ", step, " (", what, ")"));
  }
  if (parts.size() == 1) return parts[0];
  return absl::StrCat(parts[0], " while ", absl::StrJoin(parts.begin() + 1, parts.end(), ", "));
}

}  // namespace sdp::coordinator
