// The trainer: rounds of forward, backward, averaging, commit and update over one worker's subnetwork.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/types/span.h"
#include "common/base/clock.h"
#include "common/model/sample_order.h"
#include "worker/averaging/bucket_averager.h"
#include "worker/averaging/commit_barrier.h"
#include "worker/averaging/communicator.h"
#include "worker/training/sample_reader.h"
#include "worker/training/step_clock.h"
#include "worker/training/subnetwork.h"
#include "worker/training/trainer.h"

namespace sdp {

class SubnetworkTrainer : public Trainer {
 public:
  // See Trainer::Create.
  static absl::StatusOr<std::unique_ptr<SubnetworkTrainer>> Create(TrainerInputs inputs);

  absl::Status Connect(Mesh& mesh) override;
  absl::StatusOr<RoundOutcome> TrainRound() override;
  absl::StatusOr<EvaluationOutcome> Evaluate() override;
  absl::StatusOr<std::vector<std::string>> Export(const std::string& directory) override;
  TrainerStats stats() const override;
  uint64_t ComponentHash(int component) const override;

  // For tests.
  const Subnetwork& subnetwork() const { return *subnetwork_; }

 private:
  explicit SubnetworkTrainer(TrainerInputs inputs);

  // One step whose gradients are averaged.
  absl::StatusOr<RoundOutcome> GradientRound(int64_t step);
  // `steps` local steps from `first`, then an average of the parameters.
  absl::StatusOr<RoundOutcome> ParameterRound(int64_t first, int steps);
  // One of them: what of the rank's loss is finite, and whether all of the step was.
  struct LocalStep {
    double loss = 0;
    bool finite = false;
  };
  absl::StatusOr<LocalStep> RunLocalStep(int64_t step);
  absl::Status AverageParameters();

  // Reads this rank's sequences of `step`.
  absl::Status LoadSamples(int64_t step);
  // Forward and backward of this rank's sequences; the sum of their cross entropies. `ready` (may be null)
  // hears of each held bucket when its gradients of the whole share are complete.
  absl::StatusOr<double> RunShare(const std::function<void(int held)>& ready);
  absl::Status FinishAveraging(absl::Time backward_end);

  double LearningRateAt(int64_t step) const;
  // What turns norms above the spec's limit into the limit.
  double ClipFactor(double norm) const;
  // AdamW on everything held, with the gradients times `factor` and their bucket's scale.
  void Update(int64_t step, absl::Span<const double> scales, double factor);
  void Commit(int64_t committed_steps);

  void Enter(StepPhase phase) { step_clock_.Enter(phase, clock_.Now()); }

  const TrainerInputs inputs_;
  const int64_t total_steps_;
  const int64_t tokens_;  // of this rank in one step
  const SampleOrder order_;
  const Clock clock_;
  StepClock step_clock_;
  SampleReader samples_;
  std::vector<int64_t> sample_indices_;
  std::unique_ptr<Subnetwork> subnetwork_;
  // By held bucket, what turns sums into means: over the tokens of its holders, and over this rank's own.
  std::vector<double> mean_scales_;
  std::vector<double> local_scales_;
  HolderGroups groups_;  // [0] is everyone's
  std::unique_ptr<BucketAverager> averager_;
  std::unique_ptr<CommitBarrier> barrier_;
  int64_t applied_updates_ = 0;  // AdamW's t: steps that were not skipped

  mutable absl::Mutex mutex_;
  int64_t committed_steps_ ABSL_GUARDED_BY(mutex_);
  bool next_step_ready_ ABSL_GUARDED_BY(mutex_) = false;
  AveragingTimes averaging_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace sdp
