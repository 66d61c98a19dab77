// Where a trainer's time goes.
#pragma once

#include <array>
#include <cstddef>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "worker/training/trainer.h"

namespace sdp {

// Adds up the time spent in each phase, and keeps the step times of the last rounds. Thread-safe.
class StepClock {
 public:
  // The phase from `now` on. kNone: between rounds.
  void Enter(StepPhase phase, absl::Time now);
  // A round of `steps` steps took `duration`.
  void AddRound(absl::Duration duration, int steps);

  // Fills phase, the seconds of each phase, and step_seconds.
  void Fill(TrainerStats& stats) const;

 private:
  static constexpr int kPhases = static_cast<int>(StepPhase::kExport) + 1;
  static constexpr size_t kKeptRounds = 64;

  double Seconds(StepPhase phase) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  mutable absl::Mutex mutex_;
  StepPhase phase_ ABSL_GUARDED_BY(mutex_) = StepPhase::kNone;
  absl::Time entered_ ABSL_GUARDED_BY(mutex_);
  std::array<absl::Duration, kPhases> spent_ ABSL_GUARDED_BY(mutex_);
  std::vector<double> step_seconds_ ABSL_GUARDED_BY(mutex_);  // a ring of the last kKeptRounds rounds
  size_t oldest_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace sdp
