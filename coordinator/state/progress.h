// How far a running job is, from its workers' step reports. Pure.
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "absl/time/time.h"
#include "common/model/plan.h"
#include "common/model/worker_messages.h"
#include "coordinator/state/job.h"

namespace sdp::coordinator {

// Rates are over this much time.
inline constexpr absl::Duration kRateWindow = absl::Seconds(10);

class ProgressTracker {
 public:
  ProgressTracker(const Plan& plan, int64_t total_steps);

  // Training begins.
  void Start(absl::Time now);

  struct Update {
    // The worker's step or phase is another than before.
    bool moved = false;
    // Steps that are new to the coordinator and were skipped.
    std::vector<int64_t> skipped;
  };
  // Takes in one report; `rank` is in range. CommittedSteps are taken from rank 0 only.
  Update Add(Rank rank, const StepReport& report, absl::Time now);
  // The worker has said in another message how many steps it has committed.
  void SetCommitted(Rank rank, int64_t committed_steps);

  const JobProgress& progress() const { return progress_; }
  // Steps skipped one after another up to the last one.
  int consecutive_skipped() const { return consecutive_skipped_; }

 private:
  struct Sample {
    absl::Time time;
    int64_t tokens = 0;
    int64_t steps = 0;
  };
  void AddSteps(const std::vector<CommittedStep>& steps, Update* update);
  void UpdateRates(absl::Time now);
  void UpdateSums();

  JobProgress progress_;
  int64_t next_step_;  // the first step that rank 0 has not reported
  int consecutive_skipped_ = 0;
  std::deque<Sample> samples_;
  // Latest of each rank.
  std::vector<double> step_seconds_;
  std::vector<double> averaging_seconds_;
  std::vector<double> exposed_averaging_seconds_;
};

}  // namespace sdp::coordinator
