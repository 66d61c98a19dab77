#include "worker/models/parameter_store.h"

#include <utility>

#include "ATen/ops/empty.h"
#include "ATen/ops/zeros.h"
#include "common/base/check.h"
#include "worker/models/initial_values.h"

namespace sdp {

ParameterStore::ParameterStore(const ParameterTable& table, const Plan& plan, Rank rank, uint64_t seed)
    : leaves_(table.slices.size()), places_(table.slices.size()) {
  for (size_t index = 0; index < plan.buckets.size(); ++index) {
    if (plan.Holds(rank, plan.buckets[index])) {
      AddBucket(table, plan.buckets[index], static_cast<int>(index), seed);
    }
  }
}

void ParameterStore::AddBucket(const ParameterTable& table, const Bucket& bucket, int index, uint64_t seed) {
  FlatBucket flat;
  flat.index = index;
  flat.parameters = at::empty({bucket.elements}, at::kFloat);
  flat.gradients = at::zeros({bucket.elements}, at::kFloat);
  flat.exp_avg = at::zeros({bucket.elements}, at::kFloat);
  flat.exp_avg_sq = at::zeros({bucket.elements}, at::kFloat);
  int64_t begin = 0;
  for (const int slice_index : bucket.slices) {
    const Slice& slice = table.slices[slice_index];
    const Parameter& parameter = table.parameters[slice.parameter];
    SDP_CHECK(slice.elements == parameter.elements(), "a slice is a whole parameter");
    const int64_t end = begin + slice.elements;
    FillInitialValues(parameter, seed, Values(flat.parameters).subspan(begin, slice.elements));
    at::Tensor leaf = flat.parameters.narrow(0, begin, slice.elements).view(parameter.shape).detach();
    leaf.requires_grad_(true);
    leaf.mutable_grad() = flat.gradients.narrow(0, begin, slice.elements).view(parameter.shape);
    leaves_[slice_index] = std::move(leaf);
    places_[slice_index] = {static_cast<int>(buckets_.size()), begin};
    if (!flat.segments.empty() && flat.segments.back().decayed == parameter.decayed) {
      flat.segments.back().end = end;
    } else {
      flat.segments.push_back({begin, end, parameter.decayed});
    }
    begin = end;
  }
  SDP_CHECK(begin == bucket.elements, "a bucket's elements are those of its slices");
  buckets_.push_back(std::move(flat));
}

int64_t ParameterStore::PredictBytes(const Plan& plan, Rank rank) {
  int64_t elements = 0;
  for (const Bucket& bucket : plan.buckets) {
    if (plan.Holds(rank, bucket)) elements += bucket.elements;
  }
  return elements * 4 * static_cast<int64_t>(sizeof(float));
}

}  // namespace sdp
