// Between the stream's messages and what a session works with.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "sdp/v1/worker_service.pb.h"
#include "worker/agent/agent_core.h"
#include "worker/agent/session.h"

namespace sdp {

AssignmentKey KeyFromProto(const v1::AssignmentId& id);
v1::AssignmentId KeyToProto(const AssignmentKey& key);

// Checks that the assignment is whole: the spec is valid, the plan fits the model, its digest is right and
// this worker is the member of the given rank. INVALID_ARGUMENT says what is wrong.
absl::StatusOr<SessionAssignment> AssignmentFromProto(const v1::Assignment& proto, const WorkerName& self,
                                                      Incarnation incarnation);

// Everything of an AssignmentStatus but what only a session knows.
v1::AssignmentStatus StatusToProto(const agent::SendStatus& status, const SessionAssignment* assignment);

v1::StepReport StepReportToProto(const SessionAssignment& assignment, const SessionProgress& progress);
v1::EvaluationReport EvaluationToProto(const AssignmentKey& key, const EvaluationOutcome& outcome);

// With what the process uses now.
v1::Heartbeat MakeHeartbeat();

}  // namespace sdp
