#include "coordinator/planning/bucketing.h"

#include <algorithm>
#include <map>
#include <utility>

namespace sdp {
namespace {

constexpr int64_t kElementBytes = 4;  // float32
constexpr int64_t kMinimumBucketBytes = 256 * 1024;
constexpr int64_t kMaximumBucketBytes = 25'000'000;
constexpr int64_t kBucketsPerModel = 8;

// Numbers holder sets in the order in which they are first seen; set 0 is all ranks.
class HolderSetIndex {
 public:
  explicit HolderSetIndex(const Mask& mask) : mask_(mask) {
    IndexOf(Mask::Full(mask.workers(), 1).Holders(0));
  }

  int IndexOf(const Component& component) {
    return component.shared() ? 0 : IndexOf(mask_.Holders(component.mask_column));
  }

  std::vector<std::vector<Rank>> Take() && { return std::move(sets_); }

 private:
  int IndexOf(std::vector<Rank> ranks) {
    const auto [found, added] = index_.emplace(ranks, static_cast<int>(sets_.size()));
    if (added) sets_.push_back(std::move(ranks));
    return found->second;
  }

  const Mask& mask_;
  std::vector<std::vector<Rank>> sets_;
  std::map<std::vector<Rank>, int> index_;
};

void SpreadNorms(int workers, Bucketing& bucketing) {
  std::vector<int64_t> counted(workers, 0);
  for (Bucket& bucket : bucketing.buckets) {
    const std::vector<Rank>& holders = bucketing.holder_sets[bucket.holder_set];
    bucket.norm_rank = holders[0];
    for (Rank rank : holders) {
      if (counted[rank] < counted[bucket.norm_rank]) bucket.norm_rank = rank;
    }
    counted[bucket.norm_rank] += bucket.elements;
  }
}

}  // namespace

int64_t BucketBytes(const ParameterTable& table) {
  return std::clamp(table.elements * kElementBytes / kBucketsPerModel, kMinimumBucketBytes,
                    kMaximumBucketBytes);
}

Bucketing MakeBuckets(const ParameterTable& table, const Mask& mask) {
  const int64_t limit = BucketBytes(table);
  HolderSetIndex sets(mask);
  Bucketing bucketing;
  std::vector<Bucket>& buckets = bucketing.buckets;
  bool last_shared = false;
  for (int c = static_cast<int>(table.components.size()) - 1; c >= 0; --c) {
    const Component& component = table.components[c];
    const int holder_set = sets.IndexOf(component);
    for (int s = component.end_slice - 1; s >= component.first_slice; --s) {
      const int64_t elements = table.slices[s].elements;
      const bool joins = !buckets.empty() && buckets.back().holder_set == holder_set &&
                         last_shared == component.shared() &&
                         (buckets.back().elements + elements) * kElementBytes <= limit;
      if (!joins) {
        buckets.emplace_back();
        buckets.back().holder_set = holder_set;
      }
      buckets.back().slices.push_back(s);
      buckets.back().elements += elements;
      last_shared = component.shared();
    }
  }
  bucketing.holder_sets = std::move(sets).Take();
  SpreadNorms(mask.workers(), bucketing);
  return bucketing;
}

}  // namespace sdp
