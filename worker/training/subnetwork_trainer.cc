#include "worker/training/subnetwork_trainer.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/check.h"
#include "common/base/status_macros.h"
#include "common/model/micro_batches.h"
#include "worker/training/adamw.h"
#include "worker/training/exporter.h"
#include "worker/training/full_model.h"
#include "worker/training/memory_counter.h"
#include "xxhash.h"

namespace sdp {
namespace {

const PlanMember& Self(const TrainerInputs& inputs) { return inputs.plan.members[inputs.rank]; }

absl::Status CheckInputs(const TrainerInputs& inputs) {
  for (size_t i = 0; i < inputs.plan.buckets.size(); ++i) {
    if (inputs.plan.SequencesOf(inputs.plan.buckets[i].holder_set) > 0) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("bucket ", i, " of the plan: its holders run no sequences; at least one must"));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::unique_ptr<Trainer>> Trainer::Create(TrainerInputs inputs) {
  return SubnetworkTrainer::Create(std::move(inputs));
}

absl::StatusOr<std::unique_ptr<SubnetworkTrainer>> SubnetworkTrainer::Create(TrainerInputs inputs) {
  SDP_RETURN_IF_ERROR(CheckInputs(inputs));
  InstallMemoryCounter();
  ResetPeakTensorBytes();
  std::unique_ptr<SubnetworkTrainer> trainer(new SubnetworkTrainer(std::move(inputs)));
  const TrainerInputs& kept = trainer->inputs_;
  SDP_ASSIGN_OR_RETURN(trainer->subnetwork_, Subnetwork::Create(kept.spec, kept.table, kept.plan, kept.rank));
  for (const BucketBuffers& bucket : trainer->subnetwork_->buckets()) {
    const int64_t sequences = kept.plan.SequencesOf(kept.plan.buckets[bucket.index].holder_set);
    trainer->mean_scales_.push_back(1.0 / static_cast<double>(sequences * kept.spec.model.seq_len));
    trainer->local_scales_.push_back(1.0 / static_cast<double>(std::max<int64_t>(1, trainer->tokens_)));
  }
  return trainer;
}

SubnetworkTrainer::SubnetworkTrainer(TrainerInputs inputs)
    : inputs_(std::move(inputs)),
      total_steps_(inputs_.spec.total_steps()),
      tokens_(static_cast<int64_t>(Self(inputs_).sequences) * inputs_.spec.model.seq_len),
      order_(inputs_.spec.seed, inputs_.train->sequences()),
      samples_(inputs_.train, inputs_.spec.model.seq_len),
      sample_indices_(Self(inputs_).sequences),
      committed_steps_(inputs_.plan.first_step) {}

absl::Status SubnetworkTrainer::Connect(Mesh& mesh) {
  SDP_ASSIGN_OR_RETURN(groups_, MakeGroups(mesh, inputs_.plan));
  std::vector<absl::Span<float>> buffers;
  for (const BucketBuffers& bucket : subnetwork_->buckets()) buffers.push_back(bucket.gradients);
  SDP_ASSIGN_OR_RETURN(averager_,
                       BucketAverager::Create(inputs_.plan, inputs_.rank, groups_, std::move(buffers)));
  barrier_ = std::make_unique<CommitBarrier>(*groups_[0]);
  return absl::OkStatus();
}

absl::StatusOr<RoundOutcome> SubnetworkTrainer::TrainRound() {
  SDP_CHECK(averager_ != nullptr, "Connect comes first");
  const absl::Time began = clock_.Now();
  const int64_t step = stats().committed_steps;
  RoundOutcome outcome;
  if (inputs_.spec.averaging.mode == AveragingMode::kGradients) {
    SDP_ASSIGN_OR_RETURN(outcome, GradientRound(step));
  } else {
    // The last round may be shorter.
    const int64_t left = std::max<int64_t>(1, total_steps_ - step);
    const int64_t steps = std::min<int64_t>(inputs_.spec.averaging.every_steps, left);
    SDP_ASSIGN_OR_RETURN(outcome, ParameterRound(step, static_cast<int>(steps)));
  }
  Commit(step + static_cast<int64_t>(outcome.steps.size()));
  Enter(StepPhase::kNone);
  step_clock_.AddRound(clock_.Now() - began, static_cast<int>(outcome.steps.size()));
  return outcome;
}

absl::StatusOr<RoundOutcome> SubnetworkTrainer::GradientRound(int64_t step) {
  SDP_RETURN_IF_ERROR(LoadSamples(step));
  averager_->Begin();
  SDP_ASSIGN_OR_RETURN(const double loss, RunShare([this](int held) { averager_->MarkReady(held); }));
  SDP_RETURN_IF_ERROR(FinishAveraging(clock_.Now()));

  Enter(StepPhase::kCommit);
  CommitContribution mine;
  const auto& buckets = subnetwork_->buckets();
  for (size_t held = 0; held < buckets.size(); ++held) {
    if (inputs_.plan.buckets[buckets[held].index].norm_rank != inputs_.rank) continue;
    mine.squared_norm += mean_scales_[held] * mean_scales_[held] * SumOfSquares(buckets[held].gradients);
  }
  mine.loss = loss;
  mine.tokens = tokens_;
  mine.extra = std::isfinite(loss) ? static_cast<double>(tokens_) : 0;  // the tokens that `loss` counts
  SDP_ASSIGN_OR_RETURN(const CommitResult all, barrier_->Commit(mine));

  CommittedStep committed;
  committed.step = step;
  committed.loss = all.loss / all.extra;  // NaN when it was finite nowhere
  committed.tokens = all.tokens;
  committed.learning_rate = LearningRateAt(step);
  committed.gradient_norm = std::sqrt(all.squared_norm);
  committed.skipped = all.non_finite_ranks > 0;
  Enter(StepPhase::kUpdate);
  if (!committed.skipped) Update(step, mean_scales_, ClipFactor(committed.gradient_norm));
  return RoundOutcome{{committed}};
}

absl::StatusOr<RoundOutcome> SubnetworkTrainer::ParameterRound(int64_t first, int steps) {
  std::vector<double> sums(3 * steps);  // for each step: loss, tokens that it counts, ranks that skipped it
  for (int i = 0; i < steps; ++i) {
    SDP_ASSIGN_OR_RETURN(const LocalStep local, RunLocalStep(first + i));
    const bool counted = std::isfinite(local.loss);
    sums[3 * i] = counted ? local.loss : 0;
    sums[3 * i + 1] = counted ? static_cast<double>(tokens_) : 0;
    sums[3 * i + 2] = local.finite ? 0 : 1;
  }
  SDP_RETURN_IF_ERROR(AverageParameters());
  Enter(StepPhase::kCommit);
  SDP_RETURN_IF_ERROR(groups_[0]->AllReduceSmall(absl::MakeSpan(sums))->Wait());
  Enter(StepPhase::kUpdate);
  for (const BucketBuffers& bucket : subnetwork_->buckets()) {
    std::copy(bucket.gradients.begin(), bucket.gradients.end(), bucket.parameters.begin());
  }
  RoundOutcome outcome;
  for (int i = 0; i < steps; ++i) {
    CommittedStep committed;
    committed.step = first + i;
    committed.loss = sums[3 * i] / sums[3 * i + 1];
    committed.tokens = inputs_.spec.tokens_per_step();
    committed.learning_rate = LearningRateAt(first + i);
    committed.skipped = sums[3 * i + 2] > 0;
    outcome.steps.push_back(committed);
  }
  return outcome;
}

absl::StatusOr<SubnetworkTrainer::LocalStep> SubnetworkTrainer::RunLocalStep(int64_t step) {
  SDP_RETURN_IF_ERROR(LoadSamples(step));
  LocalStep local;
  SDP_ASSIGN_OR_RETURN(local.loss, RunShare(nullptr));
  Enter(StepPhase::kUpdate);
  double squared_norm = 0;
  for (const BucketBuffers& bucket : subnetwork_->buckets()) squared_norm += SumOfSquares(bucket.gradients);
  local.finite = std::isfinite(local.loss) && std::isfinite(squared_norm);
  // Left out by this rank alone: the parameters stay finite, and the average at the round's end joins them.
  if (!local.finite || tokens_ == 0) return local;
  Update(step, local_scales_, ClipFactor(std::sqrt(squared_norm) / static_cast<double>(tokens_)));
  return local;
}

absl::Status SubnetworkTrainer::AverageParameters() {
  averager_->Begin();
  const auto& buckets = subnetwork_->buckets();
  for (size_t held = 0; held < buckets.size(); ++held) {
    // The gradients are done with: their buffer takes the average, which nobody uses before the commit.
    const double weight = static_cast<double>(tokens_) * mean_scales_[held];
    CopyScaled(buckets[held].parameters, static_cast<float>(weight), buckets[held].gradients);
    averager_->MarkReady(static_cast<int>(held));
  }
  return FinishAveraging(clock_.Now());
}

absl::Status SubnetworkTrainer::LoadSamples(int64_t step) {
  Enter(StepPhase::kData);
  const int64_t first = step * inputs_.spec.batch.global_sequences + Self(inputs_).first_sequence;
  for (size_t i = 0; i < sample_indices_.size(); ++i) {
    sample_indices_[i] = order_.SampleAt(first + static_cast<int64_t>(i));
  }
  return samples_.Read(sample_indices_);
}

absl::StatusOr<double> SubnetworkTrainer::RunShare(const std::function<void(int held)>& ready) {
  subnetwork_->ZeroGradients();
  const TokenRows rows = samples_.rows();
  const int micro = MicroBatch(inputs_.spec, rows.rows);
  double loss = 0;
  for (int begin = 0; begin < rows.rows; begin += micro) {
    const int count = std::min(micro, rows.rows - begin);
    const bool last = begin + count == rows.rows;
    Enter(StepPhase::kForward);
    SDP_ASSIGN_OR_RETURN(const double sum, subnetwork_->Forward(rows.Part(begin, count)));
    loss += sum;
    Enter(StepPhase::kBackward);
    SDP_RETURN_IF_ERROR(subnetwork_->Backward(last ? ready : nullptr));
  }
  // A rank without sequences takes part with zeros.
  for (size_t held = 0; rows.rows == 0 && ready && held < subnetwork_->buckets().size(); ++held) {
    ready(static_cast<int>(held));
  }
  return loss;
}

absl::Status SubnetworkTrainer::FinishAveraging(absl::Time backward_end) {
  Enter(StepPhase::kAverageWait);
  SDP_ASSIGN_OR_RETURN(const AveragingTimes times, averager_->Finish(backward_end));
  absl::MutexLock lock(&mutex_);
  averaging_.seconds += times.seconds;
  averaging_.exposed_seconds += times.exposed_seconds;
  next_step_ready_ = true;
  return absl::OkStatus();
}

double SubnetworkTrainer::LearningRateAt(int64_t step) const {
  return LearningRate(inputs_.spec.optimizer, step, total_steps_);
}

double SubnetworkTrainer::ClipFactor(double norm) const {
  const double limit = inputs_.spec.optimizer.clip_norm;
  return limit > 0 ? std::min(1.0, limit / (norm + 1e-6)) : 1.0;
}

void SubnetworkTrainer::Update(int64_t step, absl::Span<const double> scales, double factor) {
  const AdamWUpdate update =
      MakeAdamWUpdate(inputs_.spec.optimizer.adamw, LearningRateAt(step), ++applied_updates_);
  const auto& buckets = subnetwork_->buckets();
  for (size_t held = 0; held < buckets.size(); ++held) {
    const BucketBuffers& bucket = buckets[held];
    for (const DecaySegment& segment : bucket.segments) {
      const int64_t size = segment.end - segment.begin;
      ApplyAdamW(update, segment.decayed, static_cast<float>(scales[held] * factor),
                 bucket.gradients.subspan(segment.begin, size),
                 bucket.parameters.subspan(segment.begin, size), bucket.exp_avg.subspan(segment.begin, size),
                 bucket.exp_avg_sq.subspan(segment.begin, size));
    }
  }
}

void SubnetworkTrainer::Commit(int64_t committed_steps) {
  absl::MutexLock lock(&mutex_);
  committed_steps_ = committed_steps;
  next_step_ready_ = false;
}

absl::StatusOr<EvaluationOutcome> SubnetworkTrainer::Evaluate() {
  if (inputs_.validation == nullptr) return absl::FailedPreconditionError("the job has no validation data");
  Enter(StepPhase::kEvaluate);
  SampleReader validation(inputs_.validation, inputs_.spec.model.seq_len);
  const std::vector<int64_t> indices =
      EvenlySpaced(inputs_.validation->sequences(), inputs_.spec.evaluation.max_sequences);
  const EvaluationRows evaluation_rows = ChooseEvaluationRows(inputs_.spec, inputs_.table, inputs_.plan);
  EvaluationOutcome outcome;
  outcome.step = stats().committed_steps;
  outcome.tokens = static_cast<int64_t>(indices.size()) * inputs_.spec.model.seq_len;
  SDP_ASSIGN_OR_RETURN(outcome.full_loss,
                       FullModelLoss(inputs_.table, inputs_.plan, inputs_.rank, *subnetwork_, validation,
                                     indices, evaluation_rows, *groups_[0]));

  // All ranks run the same sequences, so that their losses compare, and no more than a share of the above.
  const int world = inputs_.plan.world_size();
  const int64_t count = (static_cast<int64_t>(indices.size()) + world - 1) / world;
  std::vector<int64_t> common;
  for (const int64_t i : EvenlySpaced(static_cast<int64_t>(indices.size()), count)) {
    common.push_back(indices[i]);
  }
  double sum = 0;
  for (int64_t begin = 0; begin < count; begin += evaluation_rows.batch) {
    const int64_t size = std::min<int64_t>(evaluation_rows.batch, count - begin);
    SDP_RETURN_IF_ERROR(validation.Read(absl::MakeConstSpan(common).subspan(begin, size)));
    SDP_ASSIGN_OR_RETURN(const double loss, subnetwork_->Loss(validation.rows()));
    sum += loss;
  }
  outcome.subnetwork_loss = sum / static_cast<double>(count * inputs_.spec.model.seq_len);
  Enter(StepPhase::kNone);
  return outcome;
}

absl::StatusOr<std::vector<std::string>> SubnetworkTrainer::Export(const std::string& directory) {
  Enter(StepPhase::kExport);
  SDP_ASSIGN_OR_RETURN(std::vector<std::string> files,
                       ExportModel(inputs_.spec, inputs_.table, inputs_.plan, inputs_.rank, *subnetwork_,
                                   directory, *groups_[0]));
  Enter(StepPhase::kNone);
  return files;
}

TrainerStats SubnetworkTrainer::stats() const {
  TrainerStats stats;
  step_clock_.Fill(stats);
  stats.tensor_bytes = TensorBytes();
  stats.peak_tensor_bytes = PeakTensorBytes();
  absl::MutexLock lock(&mutex_);
  stats.committed_steps = committed_steps_;
  stats.next_step_ready = next_step_ready_;
  stats.averaging_seconds = averaging_.seconds;
  stats.exposed_averaging_seconds = averaging_.exposed_seconds;
  return stats;
}

uint64_t SubnetworkTrainer::ComponentHash(int component) const {
  const bool moments_are_shared = inputs_.spec.averaging.mode == AveragingMode::kGradients;
  uint64_t hash = 0;
  const auto add = [&hash](absl::Span<const float> values) {
    hash = XXH3_64bits_withSeed(values.data(), values.size() * sizeof(float), hash);
  };
  const Component& held = inputs_.table.components[component];
  for (int index = held.first_slice; index < held.end_slice; ++index) {
    const Subnetwork::SliceBuffers slice = subnetwork_->slice(index);
    add(slice.parameters);
    if (!moments_are_shared) continue;
    add(slice.exp_avg);
    add(slice.exp_avg_sq);
  }
  return hash;
}

}  // namespace sdp
