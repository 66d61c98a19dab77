// AdamW (Loshchilov & Hutter 2019) over flat buffers, on the CPU.
#pragma once

#include <cstdint>

#include "absl/types/span.h"
#include "common/model/job_spec.h"

namespace sdp {

// One update's constants, the same for all buckets but for the gradient's scale.
struct AdamWUpdate {
  float beta1 = 0;
  float one_minus_beta1 = 0;
  float beta2 = 0;
  float one_minus_beta2 = 0;
  float step_size = 0;                // learning rate / (1 - beta1^t)
  float inverse_sqrt_correction = 0;  // 1 / sqrt(1 - beta2^t)
  float eps = 0;
  float decay = 0;  // learning rate x weight decay
};

// The constants of the t-th applied update, `update` = t from 1.
AdamWUpdate MakeAdamWUpdate(const AdamWSpec& spec, double learning_rate, int64_t update);

// Updates `parameters` and both moments, all of one size, with `gradient_scale` x gradients. Only basic
// arithmetic in a fixed order for each element: all holders of a parameter get the same bits, whatever
// processor they run on and wherever in a buffer the parameter lies. (A fused kernel of LibTorch contracts
// multiply-adds in its vector part and not in its remainder, and its parts follow the number of threads.)
void ApplyAdamW(const AdamWUpdate& update, bool decayed, float gradient_scale,
                absl::Span<const float> gradients, absl::Span<float> parameters, absl::Span<float> exp_avg,
                absl::Span<float> exp_avg_sq);

// Sum of squares, in double. Finite exactly when all values are.
double SumOfSquares(absl::Span<const float> values);

// target = scale x source, of one size.
void CopyScaled(absl::Span<const float> source, float scale, absl::Span<float> target);

}  // namespace sdp
