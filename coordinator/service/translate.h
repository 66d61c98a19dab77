// Between the wire's messages and the cores' structs. Specs, plans and names: common/wire.
#pragma once

#include <string>
#include <variant>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "coordinator/state/coordinator_core.h"
#include "sdp/v1/cluster_service.pb.h"
#include "sdp/v1/job.pb.h"
#include "sdp/v1/worker_service.pb.h"

namespace sdp::coordinator {

// Checks all that can be checked without knowing the other workers. FAILED_PRECONDITION: another protocol
// version, said before anything else; INVALID_ARGUMENT: a name or address that cannot be used.
absl::StatusOr<Registration> RegistrationFromProto(const v1::Register& proto);

// A message after Register. INVALID_ARGUMENT: what is missing or malformed.
absl::StatusOr<decltype(WorkerMessage::body)> MessageFromProto(v1::ConnectRequest proto);

// `coordinator_incarnation` is for Welcome.
v1::ConnectResponse MessageToProto(const ToWorker& message, uint64_t coordinator_incarnation);

v1::Job JobToProto(const Job& job);
v1::JobEvent EventToProto(const JobEvent& event);
v1::JobProgress ProgressToProto(const JobProgress& progress);
v1::Worker WorkerToProto(const WorkerRecord& worker);

}  // namespace sdp::coordinator
