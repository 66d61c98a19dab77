#include "worker/training/adamw.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "ATen/ops/_fused_adamw.h"
#include "ATen/ops/tensor.h"
#include "common/base/random.h"

namespace sdp {
namespace {

std::vector<float> RandomValues(size_t size, uint64_t seed) {
  Random random(seed);
  std::vector<float> values(size);
  for (float& value : values) value = static_cast<float>(random.Unit() - 0.5);
  return values;
}

struct State {
  explicit State(size_t size) : parameters(RandomValues(size, 1)), exp_avg(size), exp_avg_sq(size) {}
  std::vector<float> parameters, exp_avg, exp_avg_sq;
};

void Apply(State& state, int64_t update, bool decayed, float scale, const std::vector<float>& gradients) {
  ApplyAdamW(MakeAdamWUpdate(AdamWSpec(), 1e-2, update), decayed, scale, gradients,
             absl::MakeSpan(state.parameters), absl::MakeSpan(state.exp_avg),
             absl::MakeSpan(state.exp_avg_sq));
}

TEST(AdamWTest, EqualsLibTorchs) {
  constexpr size_t kSize = 1003;  // not a multiple of any vector
  for (const bool decayed : {true, false}) {
    State state(kSize);
    at::Tensor parameters = at::tensor(state.parameters);
    at::Tensor exp_avg = at::tensor(state.exp_avg);
    at::Tensor exp_avg_sq = at::tensor(state.exp_avg_sq);
    const AdamWSpec spec;
    for (int64_t update = 1; update <= 20; ++update) {
      const std::vector<float> gradients = RandomValues(kSize, 100 + update);
      Apply(state, update, decayed, 0.25f, gradients);
      at::Tensor scaled = at::tensor(gradients).mul(0.25);
      at::_fused_adamw_({parameters}, {scaled}, {exp_avg}, {exp_avg_sq}, {},
                        {at::tensor(static_cast<float>(update))}, 1e-2, spec.beta1, spec.beta2,
                        decayed ? spec.weight_decay : 0.0, spec.eps, /*amsgrad=*/false, /*maximize=*/false);
    }
    for (size_t i = 0; i < kSize; ++i) {
      ASSERT_NEAR(state.parameters[i], parameters[i].item<float>(), 2e-6) << i;
      ASSERT_NEAR(state.exp_avg[i], exp_avg[i].item<float>(), 1e-6) << i;
      ASSERT_NEAR(state.exp_avg_sq[i], exp_avg_sq[i].item<float>(), 1e-6) << i;
    }
  }
}

// A parameter may lie anywhere in a bucket, at another place on another holder.
TEST(AdamWTest, GivesTheSameBitsWhereverTheParameterLies) {
  constexpr size_t kSize = 257;
  const std::vector<float> gradients = RandomValues(kSize, 9);
  State whole(kSize);
  Apply(whole, 3, true, 0.1f, gradients);
  State parts(kSize);
  for (size_t begin = 0, size = 1; begin < kSize; begin += size, size = size % 7 + 1) {
    const size_t count = std::min(size, kSize - begin);
    ApplyAdamW(MakeAdamWUpdate(AdamWSpec(), 1e-2, 3), true, 0.1f,
               absl::MakeConstSpan(gradients).subspan(begin, count),
               absl::MakeSpan(parts.parameters).subspan(begin, count),
               absl::MakeSpan(parts.exp_avg).subspan(begin, count),
               absl::MakeSpan(parts.exp_avg_sq).subspan(begin, count));
  }
  EXPECT_EQ(whole.parameters, parts.parameters);
  EXPECT_EQ(whole.exp_avg, parts.exp_avg);
  EXPECT_EQ(whole.exp_avg_sq, parts.exp_avg_sq);
}

TEST(SumOfSquaresTest, IsExactInDoubleAndSeesWhatIsNotFinite) {
  for (const size_t size : {0u, 1u, 7u, 8u, 9u, 1000u}) {
    std::vector<float> values = RandomValues(size, 4);
    double expected = 0;
    for (const float value : values) expected += static_cast<double>(value) * value;
    EXPECT_NEAR(SumOfSquares(values), expected, 1e-12 * expected);
    for (size_t i = 0; i < size; i += 3) {
      const float kept = values[i];
      values[i] = std::numeric_limits<float>::quiet_NaN();
      EXPECT_FALSE(std::isfinite(SumOfSquares(values)));
      values[i] = -std::numeric_limits<float>::infinity();
      EXPECT_FALSE(std::isfinite(SumOfSquares(values)));
      values[i] = kept;
    }
  }
  EXPECT_TRUE(std::isfinite(SumOfSquares({std::numeric_limits<float>::max(), 1.0f})));
}

TEST(CopyScaledTest, Scales) {
  std::vector<float> target(3);
  CopyScaled({1.0f, 2.0f, -4.0f}, 0.5f, absl::MakeSpan(target));
  EXPECT_EQ(target, (std::vector<float>{0.5f, 1.0f, -2.0f}));
}

}  // namespace
}  // namespace sdp
