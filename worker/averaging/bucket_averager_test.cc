#include "worker/averaging/bucket_averager.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <string>
#include <thread>

#include "common/base/clock.h"
#include "common/base/random.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "worker/averaging/conformance.h"
#include "worker/averaging/loopback_mesh.h"

namespace sdp {
namespace {

using ::testing::HasSubstr;

// A random model, mask and plan, as far as averaging looks at them.
struct Scenario {
  ParameterTable table;
  Plan plan;
};

// Components of up to three slices of random sizes, each held by a random set of ranks, the first and the
// last by all; neighbours with the same holders share buckets up to a random size.
Scenario RandomScenario(uint64_t seed) {
  Random random(seed);
  Scenario scenario;
  const int world = 1 + static_cast<int>(random.Below(5));
  const int columns = static_cast<int>(random.Below(9));
  Plan& plan = scenario.plan;
  plan.members.resize(world);
  plan.mask = Mask(world, columns);
  for (int column = 0; column < columns; ++column) {
    for (Rank rank = 0; rank < world; ++rank) plan.mask.set(rank, column, random.Below(2) == 0);
    plan.mask.set(static_cast<Rank>(random.Below(world)), column, true);
  }
  plan.holder_sets.push_back(AllRanks(world));
  const int64_t bucket_elements = 1 + static_cast<int64_t>(random.Below(3000));
  for (int i = 0; i < columns + 2; ++i) {
    Component component;
    component.mask_column = i == 0 || i == columns + 1 ? -1 : i - 1;
    component.first_slice = static_cast<int>(scenario.table.slices.size());
    for (uint64_t n = random.Below(4); n > 0; --n) {
      Slice slice;
      slice.component = i;
      slice.elements = 1 + static_cast<int64_t>(random.Below(random.Below(3) == 0 ? 3000 : 5));
      scenario.table.slices.push_back(slice);
    }
    component.end_slice = static_cast<int>(scenario.table.slices.size());
    scenario.table.components.push_back(component);

    const std::vector<Rank> holders =
        component.shared() ? AllRanks(world) : plan.mask.Holders(component.mask_column);
    auto set = std::find(plan.holder_sets.begin(), plan.holder_sets.end(), holders);
    const int set_index = static_cast<int>(set - plan.holder_sets.begin());
    if (set == plan.holder_sets.end()) plan.holder_sets.push_back(holders);
    for (int slice = component.first_slice; slice < component.end_slice; ++slice) {
      const int64_t elements = scenario.table.slices[slice].elements;
      if (plan.buckets.empty() || plan.buckets.back().holder_set != set_index ||
          plan.buckets.back().elements + elements > bucket_elements) {
        plan.buckets.emplace_back();
        plan.buckets.back().holder_set = set_index;
      }
      plan.buckets.back().slices.push_back(slice);
      plan.buckets.back().elements += elements;
    }
  }
  return scenario;
}

// The gradient of one slice on one rank.
std::vector<float> Gradient(Rank rank, int slice, int step, int64_t elements) {
  Random random(rank * 1000003 + slice * 1009 + step);
  std::vector<float> values(elements);
  for (float& value : values) value = static_cast<float>(random.Unit() - 0.3);
  return values;
}

// The reference: component by component, slice by slice, a sum over holders in double. No buckets, no rings.
std::map<int, std::vector<double>> SumSlowly(const Scenario& scenario, int step) {
  std::map<int, std::vector<double>> sums;
  for (const Component& component : scenario.table.components) {
    for (int slice = component.first_slice; slice < component.end_slice; ++slice) {
      const int64_t elements = scenario.table.slices[slice].elements;
      std::vector<double>& sum = sums[slice];
      sum.assign(elements, 0.0);
      for (Rank rank = 0; rank < scenario.plan.world_size(); ++rank) {
        if (!component.shared() && !scenario.plan.mask.holds(rank, component.mask_column)) continue;
        const std::vector<float> gradient = Gradient(rank, slice, step, elements);
        for (int64_t i = 0; i < elements; ++i) sum[i] += gradient[i];
      }
    }
  }
  return sums;
}

// A rank's held buckets and their averager.
class HeldBuckets {
 public:
  HeldBuckets(const Scenario& scenario, Mesh& mesh) : scenario_(scenario), rank_(mesh.rank()) {
    auto groups = MakeGroups(mesh, scenario.plan);
    EXPECT_TRUE(groups.ok()) << groups.status();
    groups_ = *std::move(groups);
    std::vector<absl::Span<float>> spans;
    for (size_t i = 0; i < scenario.plan.buckets.size(); ++i) {
      if (!scenario.plan.Holds(rank_, scenario.plan.buckets[i])) continue;
      indices_.push_back(static_cast<int>(i));
      buffers_.emplace_back(scenario.plan.buckets[i].elements);
    }
    for (std::vector<float>& buffer : buffers_) spans.push_back(absl::MakeSpan(buffer));
    auto averager = BucketAverager::Create(scenario.plan, rank_, groups_, spans);
    EXPECT_TRUE(averager.ok()) << averager.status();
    averager_ = *std::move(averager);
  }

  BucketAverager& averager() { return *averager_; }
  int count() const { return static_cast<int>(buffers_.size()); }
  const std::vector<float>& buffer(int held) const { return buffers_[held]; }
  const Bucket& bucket(int held) const { return scenario_.plan.buckets[indices_[held]]; }

  void FillGradients(int step) {
    for (int held = 0; held < count(); ++held) {
      int64_t offset = 0;
      for (int slice : bucket(held).slices) {
        const std::vector<float> gradient =
            Gradient(rank_, slice, step, scenario_.table.slices[slice].elements);
        std::copy(gradient.begin(), gradient.end(), buffers_[held].begin() + offset);
        offset += static_cast<int64_t>(gradient.size());
      }
    }
  }

 private:
  const Scenario& scenario_;
  const Rank rank_;
  HolderGroups groups_;
  std::vector<int> indices_;  // in the plan
  std::vector<std::vector<float>> buffers_;
  std::unique_ptr<BucketAverager> averager_;
};

// One step, with the buckets becoming ready in a random order on two threads.
absl::StatusOr<AveragingTimes> RunStep(HeldBuckets& held, int step, uint64_t seed) {
  held.FillGradients(step);
  held.averager().Begin();
  std::vector<int> order(held.count());
  std::iota(order.begin(), order.end(), 0);
  Random(seed).Shuffle(order);
  const auto mark = [&](size_t first) {
    for (size_t i = first; i < order.size(); i += 2) held.averager().MarkReady(order[i]);
  };
  std::thread odd(mark, 1);
  mark(0);
  odd.join();
  return held.averager().Finish(Clock().Now());
}

TEST(BucketAveragerTest, EqualsTheSlowReferenceForRandomPlans) {
  for (uint64_t seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    const Scenario scenario = RandomScenario(seed);
    const int world = scenario.plan.world_size();
    const Meshes meshes = LoopbackMeshes(world, MeshOptions());
    OnEveryRank(world, [&](Rank rank) {
      HeldBuckets held(scenario, *meshes[rank]);
      for (int step = 0; step < 3; ++step) {
        ASSERT_TRUE(RunStep(held, step, seed * 100 + rank).ok());
        std::map<int, std::vector<double>> sums = SumSlowly(scenario, step);
        for (int i = 0; i < held.count(); ++i) {
          size_t at = 0;
          for (int slice : held.bucket(i).slices) {
            for (double expected : sums[slice]) {
              ASSERT_NEAR(held.buffer(i)[at], expected, 1e-6 * std::max(1.0, std::abs(expected)));
              ++at;
            }
          }
          ASSERT_EQ(at, held.buffer(i).size());
        }
      }
    });
  }
}

// Two ranks, three buckets; the last is rank 0's alone.
Scenario ThreeBuckets() {
  Scenario scenario;
  scenario.plan.members.resize(2);
  scenario.plan.mask = Mask(2, 0);
  scenario.plan.holder_sets = {{0, 1}, {0}};
  for (int i = 0; i < 3; ++i) {
    Slice slice;
    slice.elements = 1000;
    scenario.table.slices.push_back(slice);
    Bucket bucket;
    bucket.holder_set = i == 2 ? 1 : 0;
    bucket.slices = {i};
    bucket.elements = 1000;
    scenario.plan.buckets.push_back(bucket);
  }
  return scenario;
}

TEST(BucketAveragerTest, StartsInThePlansOrderOnly) {
  const Scenario scenario = ThreeBuckets();
  const Meshes meshes = LoopbackMeshes(2, MeshOptions());
  HeldBuckets zero(scenario, *meshes[0]), one(scenario, *meshes[1]);
  ASSERT_EQ(zero.count(), 3);
  ASSERT_EQ(one.count(), 2);
  for (HeldBuckets* held : {&zero, &one}) {
    held->FillGradients(0);
    held->averager().Begin();
  }
  const auto sent = [&] { return meshes[0]->bytes(Collective::kAllReduce).sent; };
  zero.averager().MarkReady(1);
  zero.averager().MarkReady(2);
  one.averager().MarkReady(0);
  one.averager().MarkReady(1);
  EXPECT_EQ(sent(), 0);  // bucket 0 holds the others back
  zero.averager().MarkReady(0);
  ASSERT_TRUE(zero.averager().Finish(absl::InfinitePast()).ok());
  ASSERT_TRUE(one.averager().Finish(absl::InfinitePast()).ok());
  EXPECT_EQ(sent(), 2 * 1000 * static_cast<int64_t>(sizeof(float)));  // two buckets, 2 (k-1)/k = 1
  EXPECT_EQ(zero.buffer(2), Gradient(0, 2, 0, 1000));                 // no traffic for its own bucket
  EXPECT_NE(zero.buffer(1), Gradient(0, 1, 0, 1000));
}

TEST(BucketAveragerTest, SplitsTheTimeAtTheEndOfBackward) {
  const Scenario scenario = ThreeBuckets();
  const Meshes meshes = LoopbackMeshes(2, MeshOptions());
  OnEveryRank(2, [&](Rank rank) {
    HeldBuckets held(scenario, *meshes[rank]);
    for (const bool all_exposed : {true, false}) {
      held.averager().Begin();
      for (int i = 0; i < held.count(); ++i) held.averager().MarkReady(i);
      const auto times = held.averager().Finish(all_exposed ? absl::InfinitePast() : absl::InfiniteFuture());
      ASSERT_TRUE(times.ok()) << times.status();
      EXPECT_GT(times->seconds, 0.0);
      EXPECT_DOUBLE_EQ(times->exposed_seconds, all_exposed ? times->seconds : 0.0);
    }
  });
}

TEST(BucketAveragerTest, NamesABucketThatNeverBecameReady) {
  const Scenario scenario = ThreeBuckets();
  const Meshes meshes = LoopbackMeshes(2, MeshOptions());
  OnEveryRank(2, [&](Rank rank) {
    HeldBuckets held(scenario, *meshes[rank]);
    held.averager().Begin();
    held.averager().MarkReady(0);
    const absl::Status status = held.averager().Finish(absl::InfinitePast()).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr("bucket 1"));
  });
}

TEST(BucketAveragerTest, AbortEndsFinishAndDestruction) {
  const Scenario scenario = ThreeBuckets();
  const Meshes meshes = LoopbackMeshes(2, MeshOptions());
  HeldBuckets finished(scenario, *meshes[0]);
  auto unfinished = std::make_unique<HeldBuckets>(scenario, *meshes[0]);
  for (HeldBuckets* held : {&finished, unfinished.get()}) {
    held->averager().Begin();
    for (int i = 0; i < held->count(); ++i) held->averager().MarkReady(i);
  }
  std::thread aborter([&] { meshes[0]->Abort("no more"); });
  EXPECT_EQ(finished.averager().Finish(absl::InfinitePast()).status().code(), absl::StatusCode::kCancelled);
  unfinished.reset();
  aborter.join();
  finished.averager().Begin();  // the failed step is over
}

TEST(BucketAveragerTest, RefusesBuffersThatDoNotFitThePlan) {
  const Scenario scenario = ThreeBuckets();
  const Meshes meshes = LoopbackMeshes(2, MeshOptions());
  auto groups = MakeGroups(*meshes[1], scenario.plan);
  ASSERT_TRUE(groups.ok()) << groups.status();
  EXPECT_EQ((*groups)[1], nullptr);  // {0} is without rank 1
  std::vector<float> buffer(1000);
  const absl::Span<float> right = absl::MakeSpan(buffer);
  const auto create = [&](std::vector<absl::Span<float>> buffers) {
    return BucketAverager::Create(scenario.plan, 1, *groups, std::move(buffers)).status();
  };
  EXPECT_EQ(create({right, right}), absl::OkStatus());
  EXPECT_THAT(create({right, right.subspan(1)}).ToString(), HasSubstr("bucket 1: its buffer has 999"));
  EXPECT_EQ(create({right}).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(create({right, right, right}).code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace sdp
