// What happens to the coordinator, and what it does about it.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/base/ids.h"
#include "common/model/job_spec.h"
#include "common/model/plan.h"
#include "common/model/worker_messages.h"
#include "coordinator/state/job.h"
#include "coordinator/state/membership.h"

namespace sdp::coordinator {

// Makes the plan of one epoch. Pure: the same arguments give the same plan.
using Planner = std::function<absl::StatusOr<Plan>(const JobSpec& spec, std::vector<PlanMember> members,
                                                   Epoch epoch, int64_t first_step)>;

// Events.
struct SubmitJob {
  JobId id;  // for the job if it is new; unique over all coordinator processes
  std::string request_id;
  std::string canonical_spec;  // see Job::canonical_spec
  std::shared_ptr<const JobSpec> spec;
};
struct CancelJob {
  JobId id;
};
struct RegisterWorker {
  SessionId session;
  Registration registration;
};
// A message on a session after Register.
struct WorkerMessage {
  SessionId session;
  FromWorker body;
};
struct SessionClosed {
  SessionId session;
  std::string reason;
};
// Time passes: deadlines are only looked at here. A few times a second.
struct Tick {};

using Event = std::variant<SubmitJob, CancelJob, RegisterWorker, WorkerMessage, SessionClosed, Tick>;

// Effects, to be carried out in order: what is persisted comes before what is said.
struct PersistJob {
  Job job;
};
struct PersistEvent {
  JobId job;
  JobEvent event;
};
struct Send {
  SessionId session;
  ToWorker message;
};
struct CloseSession {
  SessionId session;
  absl::Status status;
};
// The answer to SubmitJob and CancelJob: always the last effect of those.
struct Reply {
  absl::Status status;
  JobId job;
};
struct Log {
  bool warning = false;
  std::string text;
};

using Effect = std::variant<PersistJob, PersistEvent, Send, CloseSession, Reply, Log>;
using Effects = std::vector<Effect>;

}  // namespace sdp::coordinator
