#include "coordinator/service/cluster_metrics.h"

#include <utility>

#include "absl/strings/ascii.h"

namespace sdp::coordinator {
namespace {

constexpr WorkerState kWorkerStates[] = {WorkerState::kIdle, WorkerState::kBusy, WorkerState::kLost};

std::string Label(const char* state) { return absl::AsciiStrToLower(state); }

}  // namespace

ClusterSnapshot TakeSnapshot(const CoordinatorCore& core) {
  ClusterSnapshot snapshot;
  for (const auto& [number, entry] : core.jobs()) {
    ++snapshot.jobs[entry.job.state];
    if (entry.round == nullptr) continue;
    ClusterSnapshot::RunningJob job;
    job.id = entry.job.id;
    job.plan = entry.job.plan;
    job.progress = entry.job.progress;
    job.progress.workers.clear();
    if (entry.job.evaluation.has_value()) job.validation_loss = entry.job.evaluation->full_loss;
    snapshot.running.push_back(std::move(job));
  }
  for (const auto& [name, worker] : core.membership().workers()) ++snapshot.workers[worker.state];
  return snapshot;
}

// Handles are got once; a validation's only when there is one, so that no series shows a loss of 0.
struct ClusterMetrics::JobSeries {
  JobSeries(Registry& registry, const JobId& id, const Plan& plan)
      : series(registry, {id.value()}),
        steps(series.Get(metrics::kJobSteps)),
        skipped_steps(series.Get(metrics::kJobSkippedSteps)),
        tokens(series.Get(metrics::kJobTokens)) {
    const PlanSummary& summary = plan.summary;
    series.Get(metrics::kJobActiveRatio).Set(summary.active_ratio);
    series.Get(metrics::kJobSpectralGap).Set(summary.spectral_gap);
    series.Get(metrics::kJobSpectralGapBound).Set(summary.spectral_gap_bound);
    series.Get(metrics::kJobSpectralGapWithShared).Set(summary.spectral_gap_with_shared);
    series.Get(metrics::kJobMaskingError).Set(summary.masking_error);
    series.Get(metrics::kJobCoverageMinimum).Set(summary.coverage_minimum);
  }

  void Update(const ClusterSnapshot::RunningJob& job) {
    const JobProgress& progress = job.progress;
    steps.Add(static_cast<double>(progress.step) - steps.value());
    skipped_steps.Add(static_cast<double>(progress.skipped_steps) - skipped_steps.value());
    tokens.Add(static_cast<double>(progress.tokens) - tokens.value());
    if (job.validation_loss.has_value()) series.Get(metrics::kJobValidationLoss).Set(*job.validation_loss);
    if (progress.tokens == 0) return;  // no step has been committed and not skipped
    series.Get(metrics::kJobLoss).Set(progress.loss);
    series.Get(metrics::kJobLearningRate).Set(progress.learning_rate);
    series.Get(metrics::kJobGradientNorm).Set(progress.gradient_norm);
    series.Get(metrics::kJobTokensPerSecond).Set(progress.tokens_per_second);
    series.Get(metrics::kJobStepSeconds).Set(progress.step_seconds);
    series.Get(metrics::kJobTensorPeakBytes).Set(static_cast<double>(progress.peak_tensor_bytes));
  }

  Series series;
  Counter steps;
  Counter skipped_steps;
  Counter tokens;
};

ClusterMetrics::ClusterMetrics(Registry* registry) : registry_(*registry), cluster_(*registry) {}
ClusterMetrics::~ClusterMetrics() = default;

void ClusterMetrics::Update(const ClusterSnapshot& snapshot) {
  absl::MutexLock lock(&mutex_);
  for (JobState state : AllJobStates()) {
    auto count = snapshot.jobs.find(state);
    cluster_.Get(metrics::kJobs, {Label(JobStateName(state))})
        .Set(count == snapshot.jobs.end() ? 0 : count->second);
  }
  for (WorkerState state : kWorkerStates) {
    auto count = snapshot.workers.find(state);
    cluster_.Get(metrics::kWorkers, {Label(WorkerStateName(state))})
        .Set(count == snapshot.workers.end() ? 0 : count->second);
  }
  std::map<JobId, std::unique_ptr<JobSeries>> still;
  for (const ClusterSnapshot::RunningJob& job : snapshot.running) {
    std::unique_ptr<JobSeries>& series = still[job.id];
    auto known = jobs_.find(job.id);
    series = known != jobs_.end() ? std::move(known->second)
                                  : std::make_unique<JobSeries>(registry_, job.id, *job.plan);
    series->Update(job);
  }
  jobs_ = std::move(still);
}

}  // namespace sdp::coordinator
