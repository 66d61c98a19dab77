#include "coordinator/planning/step_time.h"

#include <algorithm>

namespace sdp {
namespace {

constexpr int64_t kNcclCommunicatorBytes = int64_t{256} << 20;

}  // namespace

double StepTime::shortest() const { return std::max(compute_seconds, averaging_seconds); }

double StepTime::longest() const { return compute_seconds + averaging_seconds; }

StepTime PredictStepTime(const WorkerCost& cost, const DeviceProfile& profile) {
  StepTime time;
  if (profile.flops_per_second > 0) time.compute_seconds = cost.flops_per_step / profile.flops_per_second;
  if (profile.link_bytes_per_second > 0) {
    time.averaging_seconds = static_cast<double>(cost.bytes_per_step) / profile.link_bytes_per_second;
  }
  return time;
}

int64_t CommunicatorBytes(const WorkerCost& cost, CommunicatorKind kind) {
  return kind == CommunicatorKind::kNccl ? cost.communicators * kNcclCommunicatorBytes : 0;
}

}  // namespace sdp
