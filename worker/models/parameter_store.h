// The tensors of the components that one worker holds.
#pragma once

#include <cstdint>
#include <vector>

#include "ATen/core/Tensor.h"
#include "absl/types/span.h"
#include "common/model/parameter_table.h"
#include "common/model/plan.h"
#include "worker/models/decay_segment.h"

namespace sdp {

// One held bucket of the plan: flat float32 tensors of Bucket::elements values, in the order of its slices.
struct FlatBucket {
  int index = 0;  // into Plan::buckets
  at::Tensor parameters;
  at::Tensor gradients;
  at::Tensor exp_avg;     // first moments
  at::Tensor exp_avg_sq;  // second moments
  std::vector<DecaySegment> segments;
};

// The values of a flat float32 tensor on the CPU.
inline absl::Span<float> Values(const at::Tensor& flat) {
  return absl::MakeSpan(flat.data_ptr<float>(), flat.numel());
}

// Parameters, gradients and moments by bucket, with an autograd leaf for each slice that is a view into its
// bucket's parameters and whose gradient is a view into the bucket's gradients: backward adds in place, and
// averaging works on whole buckets without a copy. Nothing is allocated for what the rank does not hold.
class ParameterStore {
 public:
  // Allocates and initialises what `rank` holds. Every slice must be a whole parameter. Throws what LibTorch
  // throws when memory is short.
  ParameterStore(const ParameterTable& table, const Plan& plan, Rank rank, uint64_t seed);

  ParameterStore(const ParameterStore&) = delete;
  ParameterStore& operator=(const ParameterStore&) = delete;

  // In the plan's order.
  std::vector<FlatBucket>& buckets() { return buckets_; }
  const std::vector<FlatBucket>& buckets() const { return buckets_; }

  // By slice of the table; undefined where not held.
  const std::vector<at::Tensor>& leaves() const { return leaves_; }

  // Where the slice lies: position in buckets() and first element; -1 where not held.
  struct Place {
    int bucket = -1;
    int64_t begin = 0;
  };
  const Place& place(int slice) const { return places_[slice]; }

  // Bytes that a store of `rank` allocates.
  static int64_t PredictBytes(const Plan& plan, Rank rank);

 private:
  void AddBucket(const ParameterTable& table, const Bucket& bucket, int index, uint64_t seed);

  std::vector<FlatBucket> buckets_;
  std::vector<at::Tensor> leaves_;
  std::vector<Place> places_;
};

}  // namespace sdp
