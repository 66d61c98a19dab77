// What a worker process shows to Prometheus.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/base/ids.h"
#include "common/metrics/exposer.h"
#include "common/metrics/registry.h"
#include "worker/averaging/communicator.h"
#include "worker/training/trainer.h"

namespace sdp {

// Payload bytes of a mesh since it began.
struct WireBytes {
  std::array<ByteCount, 6> by_collective;  // [Collective]
  std::vector<ByteCount> by_group_size;    // [members of the group]; 0 and 1 stay empty
};
WireBytes CountWireBytes(const Mesh& mesh);

// The series of one job on this worker; they go when it goes. Thread-compatible.
class JobMetrics {
 public:
  // `tokens_per_step` is this worker's own share. The registry must outlive it.
  JobMetrics(Registry& registry, const JobId& job, int64_t tokens_per_step);

  // Brings the series up to date. `steps` are those committed since the last call. The sums of `stats` and
  // `bytes` count from the beginning of the trainer and of the mesh; smaller ones than before come from new
  // ones. The time of a phase is observed once per step, as the mean over `steps`: call it after every round
  // for exact distributions.
  void Update(const TrainerStats& stats, const std::vector<CommittedStep>& steps, const WireBytes& bytes);
  void OnEvaluation(const EvaluationOutcome& outcome);

 private:
  // A sum that is counted elsewhere, as a counter here.
  class Follower {
   public:
    explicit Follower(Counter counter) : counter_(counter) {}
    void Follow(double sum);

   private:
    Counter counter_;
    double sum_ = 0;
  };
  struct Phase {
    Histogram histogram;
    double PhaseSeconds::*seconds;
  };

  void ObservePhases(const PhaseSeconds& seconds, size_t steps);
  void FollowBytes(const WireBytes& bytes);

  const int64_t tokens_per_step_;
  Series series_;
  const Counter steps_;
  const Counter tokens_;
  const Gauge tensor_bytes_;
  const Gauge tensor_peak_bytes_;
  std::vector<Phase> phases_;
  PhaseSeconds observed_;  // as of the steps that were observed
  Follower averaging_seconds_;
  Follower exposed_averaging_seconds_;
  std::vector<Follower> sent_by_collective_;
  std::vector<Follower> received_by_collective_;
  std::vector<Follower> sent_by_size_;  // [members of the group - 2]
  std::vector<Follower> received_by_size_;
};

// The process's registry and its HTTP endpoint, and the metrics of the job at hand. Thread-compatible.
class WorkerMetrics {
 public:
  // Serves http://`address`/metrics for the worker named `worker`. Errors as StartExposer.
  static absl::StatusOr<std::unique_ptr<WorkerMetrics>> Serve(const std::string& address,
                                                              const std::string& worker);

  int port() const { return server_->port(); }
  const Registry& registry() const { return registry_; }

  // The worker works on a job from BeginJob to EndJob; a new one ends the one before. Without a job, Update
  // and OnEvaluation do nothing.
  void BeginJob(const JobId& job, int64_t tokens_per_step);
  void Update(const TrainerStats& stats, const std::vector<CommittedStep>& steps, const WireBytes& bytes);
  void OnEvaluation(const EvaluationOutcome& outcome);
  void EndJob();

 private:
  explicit WorkerMetrics(const std::string& worker);

  Registry registry_;
  Series process_;
  std::unique_ptr<JobMetrics> job_;
  std::unique_ptr<MetricsServer> server_;
};

}  // namespace sdp
