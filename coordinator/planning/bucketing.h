// Holder sets and the one global order of buckets.
#pragma once

#include <cstdint>
#include <vector>

#include "common/model/mask.h"
#include "common/model/parameter_table.h"
#include "common/model/plan.h"

namespace sdp {

// Size that buckets are filled to, in bytes of gradients: an eighth of the model, so that the first averages
// start early in the backward pass of a small model too; at least 256 KiB, where latency begins to outweigh
// bandwidth, and at most 25 MB, where more would not help bandwidth.
int64_t BucketBytes(const ParameterTable& table);

struct Bucketing {
  std::vector<std::vector<Rank>> holder_sets;  // as in Plan
  std::vector<Bucket> buckets;                 // as in Plan
};

// Buckets in the order in which the backward pass completes gradients: components from last to first, slices
// of a component likewise. That is right with tied embeddings too, where the output's share of the
// embedding's gradient comes first and its look-up's share last.
//
// A bucket takes slice after slice while the holder set stays the same and it does not grow beyond
// BucketBytes; a larger slice is a bucket of its own. Shared components never share a bucket with maskable
// ones: the head would otherwise wait for blocks, or even for the embedding, at C = 1. Each bucket counts in
// the gradient norm at the holder that counts the fewest elements so far.
Bucketing MakeBuckets(const ParameterTable& table, const Mask& mask);

}  // namespace sdp
