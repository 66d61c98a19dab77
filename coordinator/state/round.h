// One epoch of a job, from Assignment until every member has stopped. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "absl/time/time.h"
#include "common/base/ids.h"
#include "common/model/job_spec.h"
#include "common/model/plan.h"
#include "common/model/worker_messages.h"
#include "coordinator/state/failure.h"
#include "coordinator/state/job.h"
#include "coordinator/state/progress.h"
#include "coordinator/state/timing.h"

namespace sdp::coordinator {

// A job fails after this many skipped steps in a row.
inline constexpr int kMaxConsecutiveSkipped = 20;
// How long the first report of a failure waits for a better explanation from others.
inline constexpr absl::Duration kFailureGrace = absl::Seconds(1);
// How long members may take to answer an Abort before the job ends without them.
inline constexpr absl::Duration kAbortTimeout = absl::Seconds(5);
// Largest rendezvous address.
inline constexpr size_t kMaxRendezvousBytes = 1 << 20;

// What a round wants done or known, in order.
struct SendTo {
  Rank rank = 0;
  ToWorker message;
};
struct MemberFailed {  // for the job's events; the decision follows as RoundFailed
  Rank rank = 0;
  std::string message;
};
struct AllReady {};    // answer with StartTraining
struct AllTrained {};  // every member writes the model, or has done so
struct AllFinished {
  std::vector<std::string> exported_files;
};
struct RoundFailed {  // answer with Stop
  std::string reason;
};
struct AllStopped {};  // after Stop: nobody is left to wait for
struct StepSkipped {
  int64_t step = 0;
};
struct Evaluated {
  Evaluation evaluation;
};
struct Ignored {  // a message that does not fit, with the reason; for the log
  std::string reason;
};
using RoundEffect = std::variant<SendTo, MemberFailed, AllReady, AllTrained, AllFinished, RoundFailed,
                                 AllStopped, StepSkipped, Evaluated, Ignored>;
using RoundEffects = std::vector<RoundEffect>;

class Round {
 public:
  Round(AssignmentKey id, std::shared_ptr<const JobSpec> spec, std::shared_ptr<const Plan> plan,
        const Timing& timing, absl::Time now);

  // The Assignments.
  RoundEffects Begin() const;
  // The Starts. Only after AllReady.
  RoundEffects StartTraining(absl::Time now);
  // Aborts everybody that still works.
  RoundEffects Stop(const std::string& reason, absl::Time now);

  // What members say. `rank` is the sender's and in range; the message's id is this round's.
  RoundEffects OnStatus(Rank rank, const AssignmentStatus& status, absl::Time now);
  RoundEffects OnStepReport(Rank rank, const StepReport& report, absl::Time now);
  RoundEffects OnEvaluation(Rank rank, const EvaluationReport& report, absl::Time now);
  RoundEffects OnRendezvous(Rank rank, const RendezvousAddress& message, absl::Time now);
  RoundEffects OnLost(Rank rank, const std::string& reason, absl::Time now);
  // Deadlines and postponed decisions.
  RoundEffects Tick(absl::Time now);

  const AssignmentKey& id() const { return id_; }
  const Plan& plan() const { return *plan_; }
  const JobProgress& progress() const { return progress_.progress(); }
  bool lost(Rank rank) const { return members_[rank].lost; }
  // Whether the member is idle again, or lost.
  bool done(Rank rank) const { return members_[rank].lost || IsTerminal(members_[rank].phase); }

 private:
  enum class Stage { kPreparing, kReady, kTraining, kExporting, kFinished, kStopping, kStopped };
  struct Member {
    AssignmentPhase phase = AssignmentPhase::kPreparing;
    bool heard = false;  // it has said something about this epoch, so it has the Assignment
    bool lost = false;
    std::vector<ShardFingerprint> shards;
    std::vector<std::string> exported_files;
  };

  const WorkerName& NameOf(Rank rank) const { return plan_->members[rank].worker; }
  // "while preparing", "at step 12 of 300".
  std::string When() const;
  bool Stopping() const { return stage_ == Stage::kStopping || stage_ == Stage::kStopped; }
  // Whether the decision about a failure is pending or made.
  bool Failing() const { return Stopping() || !evidence_.empty(); }
  // Whether every member's phase is `phase` or later.
  bool AllReached(AssignmentPhase phase) const;
  void Hear(Rank rank, RoundEffects* effects);
  void AddEvidence(FailureEvidence evidence, Rank rank, absl::Time now, RoundEffects* effects);
  void Advance(RoundEffects* effects);
  void CheckReady(RoundEffects* effects);
  void CheckStopped(absl::Time now, RoundEffects* effects);
  void CheckDeadlines(absl::Time now, RoundEffects* effects) const;
  absl::Duration ProgressTimeout() const;
  std::string DescribeUnready() const;
  std::string DescribeLaggards() const;

  const AssignmentKey id_;
  const std::shared_ptr<const JobSpec> spec_;
  const std::shared_ptr<const Plan> plan_;
  const Timing timing_;

  Stage stage_ = Stage::kPreparing;
  std::vector<Member> members_;  // by rank
  ProgressTracker progress_;
  absl::Time prepare_deadline_;
  absl::Time last_progress_;
  std::vector<FailureEvidence> evidence_;
  absl::Time first_evidence_;
  absl::Time stop_time_;
  std::map<Rank, std::string> addresses_;                             // rendezvous, while preparing
  std::map<int64_t, std::map<Rank, EvaluationOutcome>> evaluations_;  // by step, until all have reported
};

}  // namespace sdp::coordinator
