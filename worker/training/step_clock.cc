#include "worker/training/step_clock.h"

#include <algorithm>

namespace sdp {

void StepClock::Enter(StepPhase phase, absl::Time now) {
  absl::MutexLock lock(&mutex_);
  if (phase_ != StepPhase::kNone) spent_[static_cast<int>(phase_)] += now - entered_;
  phase_ = phase;
  entered_ = now;
}

void StepClock::AddRound(absl::Duration duration, int steps) {
  const double seconds = absl::ToDoubleSeconds(duration) / steps;
  absl::MutexLock lock(&mutex_);
  if (step_seconds_.size() < kKeptRounds) {
    step_seconds_.push_back(seconds);
    return;
  }
  step_seconds_[oldest_] = seconds;
  oldest_ = (oldest_ + 1) % kKeptRounds;
}

double StepClock::Seconds(StepPhase phase) const {
  return absl::ToDoubleSeconds(spent_[static_cast<int>(phase)]);
}

void StepClock::Fill(TrainerStats& stats) const {
  absl::MutexLock lock(&mutex_);
  stats.phase = phase_;
  stats.phase_seconds.data = Seconds(StepPhase::kData);
  stats.phase_seconds.forward = Seconds(StepPhase::kForward);
  stats.phase_seconds.backward = Seconds(StepPhase::kBackward);
  stats.phase_seconds.average_wait = Seconds(StepPhase::kAverageWait);
  stats.phase_seconds.commit = Seconds(StepPhase::kCommit);
  stats.phase_seconds.update = Seconds(StepPhase::kUpdate);
  if (step_seconds_.empty()) return;
  std::vector<double> sorted = step_seconds_;
  const auto middle = sorted.begin() + sorted.size() / 2;
  std::nth_element(sorted.begin(), middle, sorted.end());
  stats.step_seconds = *middle;
}

}  // namespace sdp
