// The plan of one epoch: who holds what and who averages with whom. Immutable once made.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/base/ids.h"
#include "common/model/mask.h"
#include "common/model/parameter_table.h"

namespace sdp {

// Bounds of relative speeds, wide enough for any two devices: beyond them, arithmetic with speeds overflows.
inline constexpr double kMinRelativeSpeed = 1e-6;
inline constexpr double kMaxRelativeSpeed = 1e6;

// What a worker offers, as declared by itself or by the spec. Bears on planning and predictions only: neither
// in the digest nor sent to workers.
struct WorkerProfile {
  int64_t memory_budget_bytes = 0;  // for tensors; 0: no limit
  double relative_speed = 1.0;      // within the bounds; 2 runs a step of the same work in half the time
  int threads = 0;                  // 0: unknown

  friend bool operator==(const WorkerProfile& a, const WorkerProfile& b) {
    return a.memory_budget_bytes == b.memory_budget_bytes && a.relative_speed == b.relative_speed &&
           a.threads == b.threads;
  }
};

struct PlanMember {
  WorkerName worker;
  Incarnation incarnation;
  std::string data_plane_address;
  // Positions [first_sequence, first_sequence + sequences) of each step's global batch.
  int first_sequence = 0;
  int sequences = 0;
  WorkerProfile profile;
};

// Slices that are averaged together among one holder set, as one flat buffer.
struct Bucket {
  int holder_set = 0;       // index into Plan::holder_sets
  std::vector<int> slices;  // indices into ParameterTable::slices, in the order of the flat buffer
  int64_t elements = 0;
  Rank norm_rank = 0;  // the holder that counts this bucket in the global gradient norm
};

// Tensor memory of one worker in bytes at the instant of a job when it is largest.
struct WorkerMemory {
  int64_t parameters = 0;
  int64_t gradients = 0;
  int64_t moments = 0;
  int64_t activations = 0;      // kept from the forward pass, or between components in an evaluation
  int64_t logits_and_loss = 0;  // logits, their softmax and their gradients
  int64_t workspace = 0;        // what single operations need for a while, gradients on their way included
  int64_t buffers = 0;          // rotary tables; blocks that an evaluation receives

  int64_t total() const {
    return parameters + gradients + moments + activations + logits_and_loss + workspace + buffers;
  }
};

struct WorkerCost {
  int64_t parameters = 0;
  int64_t bytes_per_step = 0;  // sum over held buckets of 2 (k-1)/k x bytes
  double flops_per_step = 0;
  WorkerMemory memory;              // predicted; its total is never below what the allocator will count
  int communicators = 0;            // holder sets of two or more that the worker is in
  int64_t memory_budget_bytes = 0;  // WorkerProfile's
  double relative_speed = 1.0;
  double compute_seconds = 0;  // predicted, per step; 0: the device's speed is unknown
  double averaging_seconds = 0;
  int64_t communicator_bytes = 0;  // of device memory, beside the tensors
};

struct PlanSummary {
  double active_ratio = 0;
  double spectral_gap = 0;
  double spectral_gap_bound = 0;
  double spectral_gap_with_shared = 0;
  double masking_error = 0;
  int coverage_minimum = 0;
  double imbalance = 0;          // of parameters held: largest / mean
  double memory_imbalance = 0;   // of predicted memory
  double compute_imbalance = 0;  // of operations per step / relative speed
  int64_t parameters = 0;
  int component_holder_sets = 0;             // distinct holder sets of maskable components
  int64_t data_parallel_bytes_per_step = 0;  // that each worker would send if it held everything
  // Of the slowest worker; averaging hidden entirely, or not at all. 0: the devices' speed is unknown.
  double step_seconds_shortest = 0;
  double step_seconds_longest = 0;
  std::vector<std::string> reasons;  // why the mask is what it is, in plain words
  std::vector<WorkerCost> workers;   // by rank
};

struct Plan {
  Epoch epoch;
  std::vector<PlanMember> members;  // by rank
  Mask mask;
  std::vector<std::vector<Rank>> holder_sets;  // distinct, each ascending; [0] is all ranks
  std::vector<Bucket> buckets;  // the one global order: every worker walks its buckets in this order
  int64_t first_step = 0;
  std::string digest;  // PlanDigest of everything above
  PlanSummary summary;

  int world_size() const { return static_cast<int>(members.size()); }
  // Whether `rank` is in the bucket's holder set.
  bool Holds(Rank rank, const Bucket& bucket) const;
  // Whether `rank` holds component `component` of `table`; shared components are held by all.
  bool Holds(Rank rank, const Component& component) const;
  // The holder that provides the component to others (evaluation, export): spread evenly over holders.
  Rank Provider(const ParameterTable& table, int component) const;
  // Sequences that the holder set's ranks run in one step: with the sequence length, the divisor of their
  // gradients.
  int64_t SequencesOf(int holder_set) const;
};

// Hash of everything that members must agree on (all but digest and summary), as 16 hexadecimal digits. The
// same on every platform.
std::string PlanDigest(const Plan& plan);

// Checks that the plan is complete and consistent with the table: ranks in range, each slice in exactly one
// bucket, held by exactly the bucket's holder set, the split covering each step's batch of `global_sequences`
// exactly once, the digest right. INVALID_ARGUMENT names what is wrong.
absl::Status CheckPlan(const Plan& plan, const ParameterTable& table, int global_sequences);

}  // namespace sdp
