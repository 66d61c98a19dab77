// A small language for telling the core's story in text: one runner for all of testdata/.
//
// A transcript is comments (#), commands (> command) and, below each command, what the core did. Commands:
//   register W I [current=JOB/EPOCH:PHASE]   a process of worker W with incarnation I opens a stream
//   submit JOB [min=N] [max=N] [steps=N] [request=ID] [other_spec]
//   cancel JOB
//   ready W...                    READY as a correct worker would say it
//   status W PHASE [key=value...] keys: job, epoch, digest, steps, error, code, suspects, file, hash, bytes
//   step W N [loss=X] [skipped] [phase=P] [seconds=X] [job=J] [epoch=N]   N committed steps
//   evaluate W STEP LOSS          a validation
//   address W [TEXT] [bytes=N] [rank=N] [epoch=N]   a rendezvous address
//   close W | leave W             the stream breaks | the worker leaves
//   mute W                        its heartbeats stop
//   tick D                        the clock moves by D at once, then one tick
//   run D                         the clock moves by D in ticks of 100 ms; workers that are not mute send
//   heartbeats jobs | workers                the state of all
// W is a worker name (its newest process) or name/incarnation.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "coordinator/state/coordinator_core.h"

namespace sdp::coordinator {

// A planner for tests: every worker holds everything; the digest is "digest-EPOCH". INVALID_ARGUMENT when the
// spec's seed is kUnplannableSeed.
absl::StatusOr<Plan> PlanForTest(const JobSpec& spec, std::vector<PlanMember> members, Epoch epoch,
                                 int64_t first_step);
inline constexpr uint64_t kUnplannableSeed = 13;

// One effect as a line of text; sessions by the names in `sessions`.
std::string Show(const Effect& effect, const std::map<SessionId, std::string>& sessions);

class TranscriptRunner {
 public:
  TranscriptRunner();
  // Runs a whole transcript and returns it with the outputs as they are now.
  std::string Run(const std::string& transcript);

 private:
  struct Process {
    std::string label;  // "a/1", "a/1 again"
    std::string name;
    SessionId session;
    bool open = true;
    bool mute = false;
    Assignment assignment;  // the last that it got
  };
  using Words = std::vector<std::string>;
  class Arguments;

  void Command(const std::string& line);
  void Apply(const Event& event);
  void Register(const Arguments& arguments);
  void Submit(const Arguments& arguments);
  void Status(const std::string& worker, AssignmentPhase phase, const Arguments& arguments);
  void Step(const Arguments& arguments);
  void Evaluate(const Arguments& arguments);
  void Address(const Arguments& arguments);
  void RunFor(absl::Duration duration);
  void ShowJobs();
  void ShowWorkers();
  Process& Find(const std::string& worker);
  AssignmentKey KeyOf(const Process& process, const Arguments& arguments) const;
  void Say(const std::string& line);

  CoordinatorCore core_;
  absl::Time now_ = absl::UnixEpoch();
  absl::Time next_heartbeats_ = absl::UnixEpoch();
  int64_t last_session_ = 0;
  std::vector<std::unique_ptr<Process>> processes_;
  std::map<SessionId, std::string> labels_;
  std::string output_;
};

}  // namespace sdp::coordinator
