// Seconds per step and device memory of communicators, from a plan's costs and a device's profile.
#pragma once

#include <cstdint>

#include "common/model/plan.h"

namespace sdp {

// What a worker's device and network do in a second, as given or measured. Zero: unknown.
struct DeviceProfile {
  double flops_per_second = 0;
  double link_bytes_per_second = 0;  // sent
};

// Predicted seconds of one step of one worker. What the profile does not know counts as no time.
struct StepTime {
  double compute_seconds = 0;
  double averaging_seconds = 0;

  // All of averaging runs beside the backward pass, or none of it does.
  double shortest() const;
  double longest() const;
};

StepTime PredictStepTime(const WorkerCost& cost, const DeviceProfile& profile);

enum class CommunicatorKind { kGloo, kNccl };

// Device memory of a worker's communicators. Groups of a Gloo mesh share its connections and have none.
// NCCL's depends on channels, protocols and peers: 256 MiB for each communicator is an assumption, not a
// measurement.
int64_t CommunicatorBytes(const WorkerCost& cost, CommunicatorKind kind);

}  // namespace sdp
