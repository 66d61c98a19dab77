#include "worker/training/adamw.h"

#include <cmath>
#include <cstddef>

#include "common/base/check.h"

namespace sdp {
namespace {

// base^exponent by squaring: the C library's pow differs in its last bit between processors.
double IntegerPower(double base, int64_t exponent) {
  double power = 1;
  for (; exponent > 0; exponent >>= 1, base *= base) {
    if (exponent & 1) power *= base;
  }
  return power;
}

}  // namespace

AdamWUpdate MakeAdamWUpdate(const AdamWSpec& spec, double learning_rate, int64_t update) {
  AdamWUpdate result;
  result.beta1 = static_cast<float>(spec.beta1);
  result.one_minus_beta1 = static_cast<float>(1 - spec.beta1);
  result.beta2 = static_cast<float>(spec.beta2);
  result.one_minus_beta2 = static_cast<float>(1 - spec.beta2);
  result.step_size = static_cast<float>(learning_rate / (1 - IntegerPower(spec.beta1, update)));
  result.inverse_sqrt_correction = static_cast<float>(1 / std::sqrt(1 - IntegerPower(spec.beta2, update)));
  result.eps = static_cast<float>(spec.eps);
  result.decay = static_cast<float>(learning_rate * spec.weight_decay);
  return result;
}

void ApplyAdamW(const AdamWUpdate& update, bool decayed, float gradient_scale,
                absl::Span<const float> gradients, absl::Span<float> parameters, absl::Span<float> exp_avg,
                absl::Span<float> exp_avg_sq) {
  const size_t size = gradients.size();
  SDP_CHECK(parameters.size() == size && exp_avg.size() == size && exp_avg_sq.size() == size, "of one size");
  const AdamWUpdate u = update;
  const float keep = decayed ? 1.0f - u.decay : 1.0f;
  const float* __restrict g = gradients.data();
  float* __restrict p = parameters.data();
  float* __restrict m = exp_avg.data();
  float* __restrict v = exp_avg_sq.data();
  for (size_t i = 0; i < size; ++i) {
    const float gradient = gradient_scale * g[i];
    const float first = u.beta1 * m[i] + u.one_minus_beta1 * gradient;
    const float second = u.beta2 * v[i] + u.one_minus_beta2 * gradient * gradient;
    m[i] = first;
    v[i] = second;
    p[i] = keep * p[i] - u.step_size * first / (std::sqrt(second) * u.inverse_sqrt_correction + u.eps);
  }
}

double SumOfSquares(absl::Span<const float> values) {
  // Independent sums let the compiler use vector registers without reordering.
  constexpr size_t kLanes = 8;
  double sums[kLanes] = {};
  const size_t whole = values.size() / kLanes * kLanes;
  for (size_t i = 0; i < whole; i += kLanes) {
    for (size_t lane = 0; lane < kLanes; ++lane) {
      const double value = values[i + lane];
      sums[lane] += value * value;
    }
  }
  double total = 0;
  for (size_t i = whole; i < values.size(); ++i) total += static_cast<double>(values[i]) * values[i];
  for (const double sum : sums) total += sum;
  return total;
}

void CopyScaled(absl::Span<const float> source, float scale, absl::Span<float> target) {
  SDP_CHECK(source.size() == target.size(), "of one size");
  const float* __restrict from = source.data();
  float* __restrict to = target.data();
  for (size_t i = 0; i < source.size(); ++i) to[i] = scale * from[i];
}

}  // namespace sdp
