// The part of the model that one worker holds and runs. No torch types in this header.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "common/model/job_spec.h"
#include "common/model/parameter_table.h"
#include "common/model/plan.h"
#include "worker/models/decay_segment.h"
#include "worker/training/sample_reader.h"

namespace sdp {

class Model;
class ParameterStore;

// The flat buffers of one held bucket.
struct BucketBuffers {
  int index = 0;  // into Plan::buckets
  absl::Span<float> parameters;
  absl::Span<float> gradients;
  absl::Span<float> exp_avg;
  absl::Span<float> exp_avg_sq;
  std::vector<DecaySegment> segments;
};

// Thread-compatible. Errors: RESOURCE_EXHAUSTED, out of memory; INTERNAL, anything else that LibTorch throws.
class Subnetwork {
 public:
  // `table` and `plan` must outlive the subnetwork.
  static absl::StatusOr<std::unique_ptr<Subnetwork>> Create(const JobSpec& spec, const ParameterTable& table,
                                                            const Plan& plan, Rank rank);
  ~Subnetwork();

  // Sum of the rows' cross entropies in nats; keeps what Backward needs.
  absl::StatusOr<double> Forward(const TokenRows& rows);
  // Adds the gradient of the last Forward's sum to the gradients; its rows must still be there. Calls `ready`
  // (may be null) with the position in buckets() of each bucket whose gradients are complete, on this or
  // another thread.
  absl::Status Backward(const std::function<void(int held)>& ready);
  // The same sum as Forward, without what Backward needs.
  absl::StatusOr<double> Loss(const TokenRows& rows) const;

  void ZeroGradients();

  // In the plan's order.
  const std::vector<BucketBuffers>& buckets() const { return buckets_; }
  // Components that are held, ascending.
  const std::vector<int>& components() const { return components_; }
  // What of a slice of a held component lies in the bucket's buffers.
  struct SliceBuffers {
    absl::Span<float> parameters;
    absl::Span<float> exp_avg;
    absl::Span<float> exp_avg_sq;
  };
  SliceBuffers slice(int slice) const;

  const Model& model() const { return *model_; }
  const ParameterStore& store() const { return *store_; }

 private:
  class Countdown;
  struct Graph;

  Subnetwork(const JobSpec& spec, const ParameterTable& table, const Plan& plan, Rank rank);

  const ParameterTable& table_;
  std::unique_ptr<const Model> model_;
  std::unique_ptr<ParameterStore> store_;
  std::vector<BucketBuffers> buckets_;
  std::vector<int> components_;
  std::unique_ptr<Countdown> countdown_;  // outlives the hooks in store_: see the destructor
  std::unique_ptr<Graph> graph_;          // of the last Forward
};

}  // namespace sdp
