#include "common/model/job_spec.h"

#include <algorithm>
#include <cmath>

namespace sdp {

double LearningRate(const OptimizerSpec& optimizer, int64_t step, int64_t total_steps) {
  const double peak = optimizer.adamw.learning_rate;
  const int64_t warmup = optimizer.schedule.warmup_steps;
  if (step < warmup) return peak * static_cast<double>(step + 1) / static_cast<double>(warmup);
  const int64_t peak_step = std::max<int64_t>(warmup - 1, 0);
  const int64_t decay_steps = total_steps - 1 - peak_step;
  if (decay_steps <= 0) return peak;  // the job ends at its peak
  const double progress =
      std::min(1.0, static_cast<double>(step - peak_step) / static_cast<double>(decay_steps));
  constexpr double kPi = 3.14159265358979323846;
  const double final_ratio = optimizer.schedule.final_ratio;
  return peak * (final_ratio + (1.0 - final_ratio) * 0.5 * (1.0 + std::cos(kPi * progress)));
}

}  // namespace sdp
