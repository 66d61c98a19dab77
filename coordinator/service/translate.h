// The coordinator's resources as proto. Specs, plans, names and the workers' messages: common/wire.
#pragma once

#include "coordinator/state/job.h"
#include "coordinator/state/membership.h"
#include "sdp/v1/cluster_service.pb.h"
#include "sdp/v1/job.pb.h"

namespace sdp::coordinator {

v1::Job JobToProto(const Job& job);
v1::JobEvent EventToProto(const JobEvent& event);
v1::JobProgress ProgressToProto(const JobProgress& progress);
v1::Worker WorkerToProto(const WorkerRecord& worker);

}  // namespace sdp::coordinator
