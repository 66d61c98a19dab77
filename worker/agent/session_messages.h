// Between the stream's messages and what a session works with.
#pragma once

#include "absl/status/statusor.h"
#include "common/model/worker_messages.h"
#include "worker/agent/agent_core.h"
#include "worker/agent/session.h"

namespace sdp {

// Checks that the assignment fits together and is this worker's: the plan fits the model, its digest is right
// and this worker is the member of the given rank. INVALID_ARGUMENT says what is wrong.
absl::StatusOr<SessionAssignment> MakeSessionAssignment(Assignment assignment, const WorkerName& self,
                                                        Incarnation incarnation);

// `session` is the one that the status is about; null when there is none.
AssignmentStatus MakeStatus(const agent::SendStatus& status, const Session* session);

StepReport MakeStepReport(const SessionAssignment& assignment, const SessionProgress& progress);

// With what the process uses now.
Heartbeat MakeHeartbeat();

}  // namespace sdp
