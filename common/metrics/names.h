// The one table of metrics: everything that coordinator and workers expose, and nothing else.
//
// Names follow Prometheus: one prefix, base units, `_total` on counters, `_ratio` for shares of 1, `_info`.
// Series with the label job_id exist while the job does. The label is not called `job`, which Prometheus
// itself sets to the name of the scrape.
#pragma once

#include "absl/types/span.h"

namespace sdp {

enum class MetricType { kCounter, kGauge, kHistogram };

// One metric. Labels are given values by position, so their order here is part of the interface.
struct Metric {
  const char* name;
  MetricType type;
  const char* help;
  absl::Span<const char* const> labels;
  absl::Span<const double> buckets;  // upper bounds; histograms only
};

// The types keep a gauge from being asked for as a counter.
struct CounterMetric : Metric {
  constexpr CounterMetric(const char* name, absl::Span<const char* const> labels, const char* help)
      : Metric{name, MetricType::kCounter, help, labels, {}} {}
};
struct GaugeMetric : Metric {
  constexpr GaugeMetric(const char* name, absl::Span<const char* const> labels, const char* help)
      : Metric{name, MetricType::kGauge, help, labels, {}} {}
};
struct HistogramMetric : Metric {
  constexpr HistogramMetric(const char* name, absl::Span<const char* const> labels,
                            absl::Span<const double> buckets, const char* help)
      : Metric{name, MetricType::kHistogram, help, labels, buckets} {}
};

namespace metrics {

inline constexpr const char* kJobLabels[] = {"job_id"};
inline constexpr const char* kJobPhaseLabels[] = {"job_id", "phase"};
inline constexpr const char* kJobCollectiveLabels[] = {"job_id", "collective"};
inline constexpr const char* kJobHoldersLabels[] = {"job_id", "holders"};
inline constexpr const char* kStateLabels[] = {"state"};
inline constexpr const char* kRpcLabels[] = {"method", "code"};
inline constexpr const char* kBuildLabels[] = {"role", "version"};
inline constexpr const char* kWorkerLabels[] = {"worker"};

// A phase of a step lasts from well under a millisecond (commit, small model) to minutes.
inline constexpr double kPhaseBuckets[] = {0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1,
                                           0.25,   0.5,   1,      2.5,   5,    10,    30,   120};
// Unary calls carry a deadline of at most tens of seconds.
inline constexpr double kRpcBuckets[] = {0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05,
                                         0.1,    0.25,  0.5,    1,     2.5,  5,     10};

// Every process.
inline constexpr GaugeMetric kBuildInfo("sdp_build_info", kBuildLabels,
                                        "Always 1; the labels say what runs: role is coordinator or worker.");
inline constexpr GaugeMetric kProcessResidentBytes("sdp_process_resident_bytes", {},
                                                   "Resident memory of the process.");
inline constexpr GaugeMetric kProcessThreads("sdp_process_threads", {}, "Threads of the process.");
inline constexpr GaugeMetric kProcessOpenFileDescriptors("sdp_process_open_file_descriptors", {},
                                                         "Open file descriptors of the process.");

// Coordinator.
inline constexpr HistogramMetric kRpcSeconds("sdp_rpc_duration_seconds", kRpcLabels, kRpcBuckets,
                                             "Time to answer a unary call, by method and status code.");
inline constexpr GaugeMetric kJobs("sdp_jobs", kStateLabels, "Jobs that the coordinator knows, by state.");
inline constexpr GaugeMetric kWorkers("sdp_workers", kStateLabels,
                                      "Workers that the coordinator knows, by state.");
inline constexpr CounterMetric kJobSteps("sdp_job_steps_total", kJobLabels, "Committed steps.");
inline constexpr CounterMetric kJobSkippedSteps(
    "sdp_job_skipped_steps_total", kJobLabels,
    "Steps that all workers skipped because a loss or gradient was not finite.");
inline constexpr CounterMetric kJobTokens("sdp_job_tokens_total", kJobLabels,
                                          "Tokens trained on, over all workers.");
inline constexpr GaugeMetric kJobLoss("sdp_job_loss", kJobLabels,
                                      "Mean training loss of the last committed step, in nats per token.");
inline constexpr GaugeMetric kJobValidationLoss(
    "sdp_job_validation_loss", kJobLabels,
    "Loss of the full model in the last validation, in nats per token.");
inline constexpr GaugeMetric kJobLearningRate("sdp_job_learning_rate", kJobLabels,
                                              "Learning rate of the last committed step.");
inline constexpr GaugeMetric kJobGradientNorm(
    "sdp_job_gradient_norm", kJobLabels,
    "Global L2 norm of the averaged gradient before clipping, in the last committed step.");
inline constexpr GaugeMetric kJobTokensPerSecond("sdp_job_tokens_per_second", kJobLabels,
                                                 "Tokens trained on per second, over the last seconds.");
inline constexpr GaugeMetric kJobStepSeconds("sdp_job_step_seconds", kJobLabels,
                                             "Median time of a step, over the last steps.");
inline constexpr GaugeMetric kJobTensorPeakBytes(
    "sdp_job_tensor_peak_bytes", kJobLabels, "The largest peak of tensor memory of any worker of the job.");
inline constexpr GaugeMetric kJobActiveRatio(
    "sdp_job_active_ratio", kJobLabels,
    "Share of the maskable components that a worker holds, on average (C).");
inline constexpr GaugeMetric kJobSpectralGap(
    "sdp_job_spectral_gap_ratio", kJobLabels,
    "Spectral gap of the plan's mask, maskable components alone: 0 disconnected, 1 full overlap.");
inline constexpr GaugeMetric kJobSpectralGapBound(
    "sdp_job_spectral_gap_bound_ratio", kJobLabels,
    "Upper bound of the spectral gap for masks with the same holders per component.");
inline constexpr GaugeMetric kJobSpectralGapWithShared(
    "sdp_job_spectral_gap_with_shared_ratio", kJobLabels,
    "Spectral gap of the plan's mask including the components that every worker holds.");
inline constexpr GaugeMetric kJobMaskingError(
    "sdp_job_masking_error_ratio", kJobLabels,
    "Masking error of the plan: 0 for plain data parallelism, 1 for disjoint masks.");
inline constexpr GaugeMetric kJobCoverageMinimum("sdp_job_coverage_minimum", kJobLabels,
                                                 "Fewest holders of any component in the plan.");

// Worker.
inline constexpr GaugeMetric kWorkerInfo("sdp_worker_info", kWorkerLabels,
                                         "Always 1; the label is the worker's name in the cluster.");
inline constexpr HistogramMetric kWorkerStepPhaseSeconds(
    "sdp_worker_step_phase_seconds", kJobPhaseLabels, kPhaseBuckets,
    "Time of one step by phase: data, forward, backward, average_wait, commit or update.");
inline constexpr CounterMetric kWorkerSteps("sdp_worker_steps_total", kJobLabels,
                                            "Steps that this worker committed.");
inline constexpr CounterMetric kWorkerTokens("sdp_worker_tokens_total", kJobLabels,
                                             "Tokens that this worker trained on.");
inline constexpr GaugeMetric kWorkerLoss(
    "sdp_worker_loss", kJobLabels,
    "Mean training loss of the last committed step over all workers, in nats per token.");
inline constexpr GaugeMetric kWorkerSubnetworkLoss(
    "sdp_worker_subnetwork_loss", kJobLabels,
    "Loss of this worker's subnetwork in the last validation, in nats per token.");
inline constexpr GaugeMetric kWorkerTensorBytes("sdp_worker_tensor_bytes", kJobLabels,
                                                "Tensor memory, counted at the allocator.");
inline constexpr GaugeMetric kWorkerTensorPeakBytes("sdp_worker_tensor_peak_bytes", kJobLabels,
                                                    "Largest tensor memory since the job began.");
inline constexpr CounterMetric kWorkerAveragingSeconds(
    "sdp_worker_averaging_seconds_total", kJobLabels, "Time in which an averaging collective was under way.");
inline constexpr CounterMetric kWorkerExposedAveragingSeconds(
    "sdp_worker_exposed_averaging_seconds_total", kJobLabels,
    "The part of the averaging time that no backward pass hid.");
inline constexpr CounterMetric kWorkerSentBytes("sdp_worker_sent_bytes_total", kJobCollectiveLabels,
                                                "Payload sent to other workers, by collective.");
inline constexpr CounterMetric kWorkerReceivedBytes("sdp_worker_received_bytes_total", kJobCollectiveLabels,
                                                    "Payload received from other workers, by collective.");
inline constexpr CounterMetric kWorkerHolderSetSentBytes(
    "sdp_worker_holder_set_sent_bytes_total", kJobHoldersLabels,
    "Payload sent to other workers, by number of workers in the group.");
inline constexpr CounterMetric kWorkerHolderSetReceivedBytes(
    "sdp_worker_holder_set_received_bytes_total", kJobHoldersLabels,
    "Payload received from other workers, by number of workers in the group.");

// All of the above. A metric that is not listed here cannot be used.
inline constexpr const Metric* kTable[] = {
    &kBuildInfo,
    &kProcessResidentBytes,
    &kProcessThreads,
    &kProcessOpenFileDescriptors,
    &kRpcSeconds,
    &kJobs,
    &kWorkers,
    &kJobSteps,
    &kJobSkippedSteps,
    &kJobTokens,
    &kJobLoss,
    &kJobValidationLoss,
    &kJobLearningRate,
    &kJobGradientNorm,
    &kJobTokensPerSecond,
    &kJobStepSeconds,
    &kJobTensorPeakBytes,
    &kJobActiveRatio,
    &kJobSpectralGap,
    &kJobSpectralGapBound,
    &kJobSpectralGapWithShared,
    &kJobMaskingError,
    &kJobCoverageMinimum,
    &kWorkerInfo,
    &kWorkerStepPhaseSeconds,
    &kWorkerSteps,
    &kWorkerTokens,
    &kWorkerLoss,
    &kWorkerSubnetworkLoss,
    &kWorkerTensorBytes,
    &kWorkerTensorPeakBytes,
    &kWorkerAveragingSeconds,
    &kWorkerExposedAveragingSeconds,
    &kWorkerSentBytes,
    &kWorkerReceivedBytes,
    &kWorkerHolderSetSentBytes,
    &kWorkerHolderSetReceivedBytes,
};

}  // namespace metrics
}  // namespace sdp
