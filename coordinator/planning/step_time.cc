#include "coordinator/planning/step_time.h"

#include <algorithm>

namespace sdp {
namespace {

constexpr int64_t kNcclCommunicatorBytes = int64_t{256} << 20;

}  // namespace

void PredictTimes(const DeviceProfile& profile, PlanSummary& summary) {
  summary.step_seconds_shortest = summary.step_seconds_longest = 0;
  for (WorkerCost& cost : summary.workers) {
    cost.compute_seconds = cost.averaging_seconds = 0;
    if (profile.flops_per_second > 0) {
      cost.compute_seconds = cost.flops_per_step / (profile.flops_per_second * cost.relative_speed);
    }
    if (profile.link_bytes_per_second > 0) {
      cost.averaging_seconds = static_cast<double>(cost.bytes_per_step) / profile.link_bytes_per_second;
    }
    cost.communicator_bytes = profile.nccl ? cost.communicators * kNcclCommunicatorBytes : 0;
    summary.step_seconds_shortest =
        std::max({summary.step_seconds_shortest, cost.compute_seconds, cost.averaging_seconds});
    summary.step_seconds_longest =
        std::max(summary.step_seconds_longest, cost.compute_seconds + cost.averaging_seconds);
  }
}

}  // namespace sdp
