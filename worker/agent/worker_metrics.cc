#include "worker/agent/worker_metrics.h"

#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "common/base/version.h"

namespace sdp {
namespace {

constexpr std::pair<Collective, const char*> kCollectives[] = {
    {Collective::kAllReduce, "all_reduce"}, {Collective::kReduceScatter, "reduce_scatter"},
    {Collective::kAllGather, "all_gather"}, {Collective::kBroadcast, "broadcast"},
    {Collective::kSendRecv, "send_recv"},   {Collective::kBarrier, "barrier"},
};

constexpr std::pair<const char*, double PhaseSeconds::*> kPhases[] = {
    {"data", &PhaseSeconds::data},         {"forward", &PhaseSeconds::forward},
    {"backward", &PhaseSeconds::backward}, {"average_wait", &PhaseSeconds::average_wait},
    {"commit", &PhaseSeconds::commit},     {"update", &PhaseSeconds::update},
};

// By how much a sum grew; a smaller one began again from 0.
double Growth(double before, double now) { return now < before ? now : now - before; }

}  // namespace

WireBytes CountWireBytes(const Mesh& mesh) {
  WireBytes bytes;
  for (const auto& [collective, name] : kCollectives) {
    bytes.by_collective[static_cast<size_t>(collective)] = mesh.bytes(collective);
  }
  bytes.by_group_size.resize(mesh.world_size() + 1);
  for (int size = 2; size <= mesh.world_size(); ++size) {
    bytes.by_group_size[size] = mesh.bytes_of_group_size(size);
  }
  return bytes;
}

void JobMetrics::Follower::Follow(double sum) {
  counter_.Add(Growth(sum_, sum));
  sum_ = sum;
}

JobMetrics::JobMetrics(Registry& registry, const JobId& job, int64_t tokens_per_step)
    : tokens_per_step_(tokens_per_step),
      series_(registry, {job.value()}),
      steps_(series_.Get(metrics::kWorkerSteps)),
      tokens_(series_.Get(metrics::kWorkerTokens)),
      tensor_bytes_(series_.Get(metrics::kWorkerTensorBytes)),
      tensor_peak_bytes_(series_.Get(metrics::kWorkerTensorPeakBytes)),
      averaging_seconds_(series_.Get(metrics::kWorkerAveragingSeconds)),
      exposed_averaging_seconds_(series_.Get(metrics::kWorkerExposedAveragingSeconds)) {
  for (const auto& [name, seconds] : kPhases) {
    phases_.push_back({series_.Get(metrics::kWorkerStepPhaseSeconds, {name}), seconds});
  }
  for (const auto& [collective, name] : kCollectives) {
    sent_by_collective_.emplace_back(series_.Get(metrics::kWorkerSentBytes, {name}));
    received_by_collective_.emplace_back(series_.Get(metrics::kWorkerReceivedBytes, {name}));
  }
}

void JobMetrics::Update(const TrainerStats& stats, const std::vector<CommittedStep>& steps,
                        const WireBytes& bytes) {
  steps_.Add(steps.size());
  tokens_.Add(static_cast<double>(steps.size()) * tokens_per_step_);
  for (auto step = steps.rbegin(); step != steps.rend(); ++step) {
    if (!std::isfinite(step->loss)) continue;  // a skipped step
    series_.Get(metrics::kWorkerLoss).Set(step->loss);
    break;
  }
  if (!steps.empty()) ObservePhases(stats.phase_seconds, steps.size());
  tensor_bytes_.Set(stats.tensor_bytes);
  tensor_peak_bytes_.Set(stats.peak_tensor_bytes);
  averaging_seconds_.Follow(stats.averaging_seconds);
  exposed_averaging_seconds_.Follow(stats.exposed_averaging_seconds);
  FollowBytes(bytes);
}

void JobMetrics::ObservePhases(const PhaseSeconds& seconds, size_t steps) {
  for (const Phase& phase : phases_) {
    const double mean = Growth(observed_.*phase.seconds, seconds.*phase.seconds) / steps;
    for (size_t i = 0; i < steps; ++i) phase.histogram.Observe(mean);
  }
  observed_ = seconds;
}

void JobMetrics::FollowBytes(const WireBytes& bytes) {
  for (size_t i = 0; i < bytes.by_collective.size(); ++i) {
    sent_by_collective_[i].Follow(bytes.by_collective[i].sent);
    received_by_collective_[i].Follow(bytes.by_collective[i].received);
  }
  for (size_t size = 2; size < bytes.by_group_size.size(); ++size) {
    const size_t i = size - 2;
    if (i == sent_by_size_.size()) {
      sent_by_size_.emplace_back(series_.Get(metrics::kWorkerHolderSetSentBytes, {absl::StrCat(size)}));
      received_by_size_.emplace_back(
          series_.Get(metrics::kWorkerHolderSetReceivedBytes, {absl::StrCat(size)}));
    }
    sent_by_size_[i].Follow(bytes.by_group_size[size].sent);
    received_by_size_[i].Follow(bytes.by_group_size[size].received);
  }
}

void JobMetrics::OnEvaluation(const EvaluationOutcome& outcome) {
  series_.Get(metrics::kWorkerSubnetworkLoss).Set(outcome.subnetwork_loss);
}

absl::StatusOr<std::unique_ptr<WorkerMetrics>> WorkerMetrics::Serve(const std::string& address,
                                                                    const std::string& worker) {
  std::unique_ptr<WorkerMetrics> metrics(new WorkerMetrics(worker));
  SDP_ASSIGN_OR_RETURN(metrics->server_, StartExposer(address, metrics->registry_));
  return metrics;
}

WorkerMetrics::WorkerMetrics(const std::string& worker) : process_(registry_) {
  process_.Get(metrics::kBuildInfo, {"worker", kVersion}).Set(1);
  process_.Get(metrics::kWorkerInfo, {worker}).Set(1);
}

void WorkerMetrics::BeginJob(const JobId& job, int64_t tokens_per_step) {
  job_.reset();  // first: a job may begin again
  job_ = std::make_unique<JobMetrics>(registry_, job, tokens_per_step);
}

void WorkerMetrics::Update(const TrainerStats& stats, const std::vector<CommittedStep>& steps,
                           const WireBytes& bytes) {
  if (job_ != nullptr) job_->Update(stats, steps, bytes);
}

void WorkerMetrics::OnEvaluation(const EvaluationOutcome& outcome) {
  if (job_ != nullptr) job_->OnEvaluation(outcome);
}

void WorkerMetrics::EndJob() { job_.reset(); }

}  // namespace sdp
