#include "coordinator/planning/bucketing.h"

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace sdp {
namespace {

using ::testing::ElementsAre;

// Blocks of 12 hidden^2 weights and 2 hidden norm weights.
ParameterTable Table(int layers, int hidden, int vocab, bool tied = false) {
  LlamaSpec spec;
  spec.layers = layers;
  spec.hidden = hidden;
  spec.heads = spec.kv_heads = 4;
  spec.ffn = hidden * 8 / 3;
  spec.vocab = vocab;
  spec.seq_len = 16;
  spec.tied_embeddings = tied;
  return MakeParameterTable(spec);
}

// Names of the components in each bucket, in order, as in "block 1 + block 0".
std::vector<std::string> Contents(const ParameterTable& table, const Bucketing& bucketing) {
  std::vector<std::string> contents;
  for (const Bucket& bucket : bucketing.buckets) {
    std::string names;
    int last = -1;
    for (int slice : bucket.slices) {
      const int component = table.slices[slice].component;
      if (component != last) names += (last < 0 ? "" : " + ") + table.components[component].name;
      last = component;
    }
    contents.push_back(names);
  }
  return contents;
}

std::vector<int> AllSlices(const Bucketing& bucketing) {
  std::vector<int> slices;
  for (const Bucket& bucket : bucketing.buckets) {
    slices.insert(slices.end(), bucket.slices.begin(), bucket.slices.end());
  }
  return slices;
}

std::vector<int> Descending(size_t count) {
  std::vector<int> order;
  for (int i = static_cast<int>(count) - 1; i >= 0; --i) order.push_back(i);
  return order;
}

TEST(BucketingTest, WalksSlicesInTheOrderOfBackward) {
  for (bool tied : {false, true}) {
    const ParameterTable table = Table(3, 48, 100, tied);
    const Bucketing bucketing = MakeBuckets(table, Mask::FromRows({"110", "011"}).value());
    EXPECT_EQ(AllSlices(bucketing), Descending(table.slices.size()));
  }
}

TEST(BucketingTest, NeighboursWithTheSameHoldersShareABucket) {
  const ParameterTable table = Table(4, 48, 100);
  const Bucketing bucketing = MakeBuckets(table, Mask::FromRows({"1110", "1001", "0111"}).value());
  EXPECT_THAT(Contents(table, bucketing),
              ElementsAre("head", "block 3", "block 2 + block 1", "block 0", "embedding"));
  EXPECT_THAT(bucketing.holder_sets,
              ElementsAre(ElementsAre(0, 1, 2), ElementsAre(1, 2), ElementsAre(0, 2), ElementsAre(0, 1)));
  std::vector<int> sets;
  for (const Bucket& bucket : bucketing.buckets) sets.push_back(bucket.holder_set);
  EXPECT_THAT(sets, ElementsAre(0, 1, 2, 3, 0));
}

TEST(BucketingTest, HeadAndEmbeddingStayApartAtFullOverlap) {
  const ParameterTable table = Table(3, 32, 100);
  const Bucketing bucketing = MakeBuckets(table, Mask::Full(2, 3));
  EXPECT_THAT(Contents(table, bucketing), ElementsAre("head", "block 2 + block 1 + block 0", "embedding"));
  EXPECT_THAT(bucketing.holder_sets, ElementsAre(ElementsAre(0, 1)));
}

TEST(BucketingTest, AHolderSetThatComesBackLaterIsNotNew) {
  const ParameterTable table = Table(3, 48, 100);
  const Bucketing bucketing = MakeBuckets(table, Mask::FromRows({"101", "111", "010"}).value());
  EXPECT_THAT(Contents(table, bucketing), ElementsAre("head", "block 2", "block 1", "block 0", "embedding"));
  EXPECT_EQ(bucketing.buckets[1].holder_set, bucketing.buckets[3].holder_set);
  EXPECT_EQ(bucketing.holder_sets.size(), 3u);
}

TEST(BucketingTest, BucketsAreFilledButNotOverfilled) {
  // Matrices of 4 MB and 11 MB in blocks of 48 MB; embedding and head of 131 MB.
  const ParameterTable table = Table(2, 1024, 32000);
  const Bucketing bucketing = MakeBuckets(table, Mask::Full(2, 2));
  EXPECT_EQ(AllSlices(bucketing), Descending(table.slices.size()));
  int full = 0;
  for (size_t i = 0; i < bucketing.buckets.size(); ++i) {
    const Bucket& bucket = bucketing.buckets[i];
    int64_t elements = 0;
    for (int slice : bucket.slices) elements += table.slices[slice].elements;
    EXPECT_EQ(bucket.elements, elements);
    EXPECT_TRUE(bucket.elements * 4 <= BucketBytes(table) || bucket.slices.size() == 1) << i;
    if (i + 1 == bucketing.buckets.size()) continue;
    const Slice& next = table.slices[bucketing.buckets[i + 1].slices[0]];
    const bool may_join = table.components[next.component].shared() ==
                          table.components[table.slices[bucket.slices[0]].component].shared();
    if (!may_join) continue;
    EXPECT_GT((bucket.elements + next.elements) * 4, BucketBytes(table)) << i;
    ++full;
  }
  EXPECT_GE(full, 4);
}

TEST(BucketingTest, SmallModelsHaveSeveralBucketsAndLargeOnesNoHugeOnes) {
  EXPECT_EQ(BucketBytes(Table(1, 16, 100)), 256 * 1024);
  EXPECT_EQ(BucketBytes(Table(2, 1024, 32000)), 25'000'000);
  const ParameterTable table = Table(8, 128, 256);
  EXPECT_EQ(BucketBytes(table), table.elements * 4 / 8);
  EXPECT_GE(MakeBuckets(table, Mask::Full(4, 8)).buckets.size(), 8u)
      << "plain data parallelism overlaps as well";
}

TEST(BucketingTest, NormsAreSpreadOverTheHolders) {
  const ParameterTable table = Table(12, 48, 100);
  const Mask mask = Mask::FromRows({"110110110110", "011011011011", "101101101101"}).value();
  const Bucketing bucketing = MakeBuckets(table, mask);
  std::vector<int> counted(3, 0);
  for (const Bucket& bucket : bucketing.buckets) {
    EXPECT_THAT(bucketing.holder_sets[bucket.holder_set], ::testing::Contains(bucket.norm_rank));
    if (bucket.holder_set != 0) ++counted[bucket.norm_rank];
  }
  EXPECT_THAT(counted, ElementsAre(4, 4, 4));
}

}  // namespace
}  // namespace sdp
