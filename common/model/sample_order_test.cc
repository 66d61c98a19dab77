#include "common/model/sample_order.h"

#include <cmath>
#include <vector>

#include "gtest/gtest.h"

namespace sdp {
namespace {

std::vector<int64_t> Pass(const SampleOrder& order, int64_t pass) {
  std::vector<int64_t> samples;
  for (int64_t i = 0; i < order.samples(); ++i) samples.push_back(order.SampleAt(pass * order.samples() + i));
  return samples;
}

class SampleOrderSizes : public ::testing::TestWithParam<int64_t> {};

TEST_P(SampleOrderSizes, EachPassConsumesEverySampleOnce) {
  const int64_t n = GetParam();
  for (uint64_t seed : {uint64_t{0}, uint64_t{1}, ~uint64_t{0}}) {
    const SampleOrder order(seed, n);
    for (int64_t pass : {0, 1, 1000000}) {
      std::vector<int> seen(n, 0);
      for (int64_t sample : Pass(order, pass)) {
        ASSERT_GE(sample, 0);
        ASSERT_LT(sample, n);
        ++seen[sample];
      }
      for (int64_t i = 0; i < n; ++i) ASSERT_EQ(seen[i], 1) << "sample " << i << ", pass " << pass;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Sizes, SampleOrderSizes,
                         ::testing::Values(1, 2, 3, 4, 5, 7, 8, 15, 16, 17, 63, 64, 65, 255, 256, 257, 1000,
                                           4095, 4096, 4097, 65537));

TEST(SampleOrderTest, PassesDiffer) {
  const SampleOrder order(7, 1000);
  EXPECT_NE(Pass(order, 0), Pass(order, 1));
  EXPECT_NE(Pass(order, 1), Pass(order, 2));
}

TEST(SampleOrderTest, SeedsDiffer) {
  EXPECT_NE(Pass(SampleOrder(0, 1000), 0), Pass(SampleOrder(1, 1000), 0));
  EXPECT_EQ(Pass(SampleOrder(5, 1000), 3), Pass(SampleOrder(5, 1000), 3));
}

TEST(SampleOrderTest, ManySeedsReachAllOrdersOfThree) {
  std::vector<int> counts(27, 0);
  for (uint64_t seed = 0; seed < 6000; ++seed) {
    const std::vector<int64_t> order = Pass(SampleOrder(seed, 3), 0);
    ++counts[9 * order[0] + 3 * order[1] + order[2]];
  }
  int orders = 0;
  for (int count : counts) {
    if (count == 0) continue;
    ++orders;
    EXPECT_NEAR(count, 1000, 250);
  }
  EXPECT_EQ(orders, 6);
}

TEST(SampleOrderTest, IsScatteredEvenly) {
  // The mean of a batch of 64 consecutive samples has a standard deviation of n / sqrt(12 x 64).
  constexpr int64_t kSamples = 64000;
  const SampleOrder order(3, kSamples);
  double square = 0;
  for (int64_t batch = 0; batch < kSamples / 64; ++batch) {
    double sum = 0;
    for (int64_t i = 0; i < 64; ++i) sum += static_cast<double>(order.SampleAt(batch * 64 + i));
    const double deviation = sum / 64 - (kSamples - 1) / 2.0;
    square += deviation * deviation;
  }
  const double expected = kSamples / std::sqrt(12.0 * 64);
  EXPECT_NEAR(std::sqrt(square / (kSamples / 64)), expected, 0.1 * expected);
}

TEST(SampleOrderTest, IsTheSameOnEveryPlatform) {
  const SampleOrder order(42, 1000);
  EXPECT_EQ((std::vector<int64_t>{order.SampleAt(0), order.SampleAt(1), order.SampleAt(999),
                                  order.SampleAt(1000), order.SampleAt(123456789)}),
            (std::vector<int64_t>{135, 195, 324, 481, 193}));
}

TEST(SampleOrderTest, HugeDataNeedsNoTable) {
  constexpr int64_t kSamples = int64_t{1} << 61;
  const SampleOrder order(1, kSamples);
  const int64_t sample = order.SampleAt(kSamples - 1);
  EXPECT_GE(sample, 0);
  EXPECT_LT(sample, kSamples);
}

}  // namespace
}  // namespace sdp
