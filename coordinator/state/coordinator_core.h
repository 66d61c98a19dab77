// The coordinator's decisions: Step(event, now) -> effects, each with its reason. Pure: the same code runs
// under the gRPC shell and under a simulated network and clock.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "common/base/ids.h"
#include "coordinator/state/events.h"
#include "coordinator/state/job.h"
#include "coordinator/state/membership.h"
#include "coordinator/state/round.h"

namespace sdp::coordinator {

class CoordinatorCore {
 public:
  // What is known of one job.
  struct JobEntry {
    Job job;
    EventLog events;
    std::unique_ptr<Round> round;  // exactly while workers are assigned
    int64_t progress_version = 0;  // grows whenever job.progress changes
  };

  CoordinatorCore(const Timing& timing, Planner planner)
      : timing_(timing), planner_(std::move(planner)), membership_(timing) {}

  // Replies: CreateJob: ALREADY_EXISTS when the id is taken, INVALID_ARGUMENT when the request_id was used
  // for another spec. CancelJob: NOT_FOUND; FAILED_PRECONDITION when it has ended otherwise or is failing.
  Effects Step(const Event& event, absl::Time now);

  const Membership& membership() const { return membership_; }
  // By number, so in order of submission.
  const std::map<int64_t, JobEntry>& jobs() const { return jobs_; }
  // Null when there is none.
  const JobEntry* FindJob(const JobId& id) const;

 private:
  void On(const SubmitJob& event, absl::Time now, Effects* out);
  void On(const CancelJob& event, absl::Time now, Effects* out);
  void On(const RegisterWorker& event, absl::Time now, Effects* out);
  void On(const WorkerMessage& event, absl::Time now, Effects* out);
  void On(const SessionClosed& event, absl::Time now, Effects* out);
  void On(const Tick& event, absl::Time now, Effects* out);

  // One kind of message of a live worker. A job's message goes to its round, or is refused with a reason.
  void OnMessage(const WorkerRecord& worker, const Heartbeat& message, absl::Time now, Effects* out);
  void OnMessage(const WorkerRecord& worker, const Leave& message, absl::Time now, Effects* out);
  void OnMessage(const WorkerRecord& worker, const AssignmentStatus& message, absl::Time now, Effects* out);
  template <typename Message>
  void OnMessage(const WorkerRecord& worker, const Message& message, absl::Time now, Effects* out);

  // The job that `id` is the current epoch of and that `worker` works for; null, and a log line, otherwise.
  JobEntry* Expecting(const WorkerRecord& worker, const AssignmentKey& id, const char* what, Effects* out);
  void OnLoss(const Loss& loss, absl::Time now, Effects* out);

  // Takes over the round's progress after a message of a member.
  void UpdateProgress(JobEntry& entry);
  // Carries out what a round wants.
  void Apply(JobEntry& entry, RoundEffects effects, absl::Time now, Effects* out);
  void ApplyOne(JobEntry& entry, RoundEffect& effect, absl::Time now, Effects* out);
  // Whether the worker of this name is alive and works for `id`.
  bool IsMember(const AssignmentKey& id, const WorkerName& name) const;
  void SendToMember(const JobEntry& entry, SendTo& send, Effects* out);

  void StartJob(JobEntry& entry, const std::vector<WorkerName>& workers, absl::Time now, Effects* out);
  // Aborts the members; the job ends when they have stopped.
  void StopJob(JobEntry& entry, JobState state, const std::string& reason, absl::Time now, Effects* out);
  // Releases the members and ends the job.
  void EndJob(JobEntry& entry, JobState state, const std::string& reason, absl::Time now, Effects* out);
  // The only place where a job's state changes.
  void TransitionState(JobEntry& entry, JobState to, const std::string& reason, absl::Time now, Effects* out);
  void AddEvent(JobEntry& entry, JobEvent event, absl::Time now, Effects* out);
  // Starts what can start and says why the others wait.
  void ScheduleQueue(absl::Time now, Effects* out);

  JobEntry* MutableJob(const JobId& id);

  const Timing timing_;
  const Planner planner_;
  Membership membership_;
  int64_t last_number_ = 0;
  std::map<int64_t, JobEntry> jobs_;
  std::set<int64_t> open_;  // jobs that have not ended
  std::map<JobId, int64_t> numbers_;
  std::map<std::string, int64_t> request_ids_;
};

}  // namespace sdp::coordinator
