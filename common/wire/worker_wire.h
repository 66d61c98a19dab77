// The only translation between the stream's messages (proto/sdp/v1/worker_service.proto) and the model's
// structs. INVALID_ARGUMENT names every field that is wrong: "step_report.committed_steps: is -1; ...".
#pragma once

#include "absl/status/statusor.h"
#include "common/model/worker_messages.h"
#include "sdp/v1/job.pb.h"
#include "sdp/v1/worker_service.pb.h"

namespace sdp {

// With this software's protocol version.
v1::Register RegistrationToProto(const Registration& registration);
// Checks all that can be checked without knowing the other workers. FAILED_PRECONDITION: another protocol
// version, said before anything else; INVALID_ARGUMENT: a name or address that cannot be used.
absl::StatusOr<Registration> RegistrationFromProto(const v1::Register& proto);

// A worker's messages after Register.
v1::ConnectRequest MessageToProto(const FromWorker& message);
absl::StatusOr<FromWorker> MessageFromProto(const v1::ConnectRequest& proto);

// The coordinator's messages.
v1::ConnectResponse MessageToProto(const ToWorker& message);
// Of an Assignment each part is checked, but not whether they fit together or fit the worker.
absl::StatusOr<ToWorker> MessageFromProto(const v1::ConnectResponse& proto);

// What an Assignment is about; good enough to refuse one whose rest is wrong.
absl::StatusOr<AssignmentKey> AssignmentKeyFromProto(const v1::AssignmentId& proto);

// Parts that the coordinator's resources show as well.
v1::StepPhase StepPhaseToProto(StepPhase phase);
v1::WorkerCapacity WorkerCapacityToProto(const WorkerCapacity& capacity);

}  // namespace sdp
