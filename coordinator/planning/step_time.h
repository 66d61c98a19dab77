// Seconds per step and device memory of communicators, from a plan's costs and a device's profile.
#pragma once

#include "common/model/plan.h"

namespace sdp {

// What a worker's device and network do in a second, as given or measured. Zero: unknown.
struct DeviceProfile {
  double flops_per_second = 0;       // of a worker of relative speed 1
  double link_bytes_per_second = 0;  // sent
  bool nccl = false;                 // communicators are NCCL's, otherwise Gloo's
};

// Fills in what the summary leaves out: compute_seconds, averaging_seconds and communicator_bytes of each
// worker, step_seconds_shortest and _longest of the slowest. What the profile does not know counts as no
// time.
//
// Groups of a Gloo mesh share its connections and have no device memory. NCCL's depends on channels,
// protocols and peers: 256 MiB for each communicator is an assumption, not a measurement.
void PredictTimes(const DeviceProfile& profile, PlanSummary& summary);

}  // namespace sdp
