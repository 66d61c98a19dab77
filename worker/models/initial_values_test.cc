#include "worker/models/initial_values.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

namespace sdp {
namespace {

Parameter Matrix(const char* name, int64_t elements) {
  Parameter parameter;
  parameter.name = name;
  parameter.shape = {elements};
  parameter.init_std = 0.5;
  return parameter;
}

std::vector<float> Filled(const Parameter& parameter, uint64_t seed) {
  std::vector<float> values(parameter.elements());
  FillInitialValues(parameter, seed, absl::MakeSpan(values));
  return values;
}

TEST(InitialValuesTest, AreNormal) {
  constexpr int64_t kCount = 200'000;
  std::vector<float> values = Filled(Matrix("w", kCount), 3);
  std::sort(values.begin(), values.end());
  // The largest distance between the distribution functions (Kolmogorov) stays below 2 / sqrt(n).
  double distance = 0;
  for (int64_t i = 0; i < kCount; ++i) {
    const double expected = 0.5 * std::erfc(-values[i] / 0.5 / std::sqrt(2.0));
    distance = std::max(distance, std::fabs(expected - (i + 0.5) / kCount));
  }
  EXPECT_LT(distance, 2 / std::sqrt(static_cast<double>(kCount)));
  EXPECT_GT(values.back(), 3.9 * 0.5) << "tails are there";
}

TEST(InitialValuesTest, DependOnSeedAndName) {
  const std::vector<float> values = Filled(Matrix("w", 64), 3);
  EXPECT_EQ(values, Filled(Matrix("w", 64), 3));
  EXPECT_NE(values, Filled(Matrix("v", 64), 3));
  EXPECT_NE(values, Filled(Matrix("w", 64), 4));
}

// Bits that every machine must get.
TEST(InitialValuesTest, AreTheSameEverywhere) {
  const std::vector<float> expected = {0x1.b6eedep-3f, -0x1.cfb1ccp-3f, 0x1.022694p+0f, -0x1.b40e78p-1f};
  EXPECT_EQ(Filled(Matrix("model.norm.weight", 4), 1), expected);
}

TEST(InitialValuesTest, OnesAreOnes) {
  Parameter parameter = Matrix("norm", 5);
  parameter.init = Init::kOnes;
  EXPECT_EQ(Filled(parameter, 3), std::vector<float>(5, 1.0f));
}

}  // namespace
}  // namespace sdp
