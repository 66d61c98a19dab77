// A coordinator and workers as real processes on loopback, for scenarios.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/testing/temporary_folder.h"
#include "sdp/v1/cluster_service.grpc.pb.h"
#include "sdp/v1/job_service.grpc.pb.h"
#include "tests/process.h"

namespace sdp::testing {

// Time that anything in a scenario may take on a slow, busy machine.
inline constexpr absl::Duration kPatience = absl::Seconds(90);

class Cluster {
 public:
  // Starts a coordinator with these further flags and waits until it serves.
  explicit Cluster(const std::vector<std::string>& coordinator_flags = {});

  // Starts a worker; does not wait for it.
  Process& StartWorker(const std::string& name, const std::vector<std::string>& flags = {},
                       Process::Options options = {});
  // Starts `count` workers named w0, w1, ... and waits until all are idle.
  void StartWorkers(int count);
  Process& worker(const std::string& name) { return *workers_.at(name); }
  Process& coordinator() { return *coordinator_; }

  // A running process of the CLI: sdpctl --coordinator ... ARGUMENTS.
  Result Sdpctl(std::vector<std::string> arguments, absl::Duration timeout = kPatience);

  // Submits a spec in YAML that must be accepted; its name.
  std::string Submit(const std::string& yaml);
  v1::Job Get(const std::string& name);
  // Waits until the job is in `state` (or in a state that it cannot leave); the job as it is then.
  v1::Job WaitForState(const std::string& name, v1::JobState state, absl::Duration timeout = kPatience);
  // Waits until the job has committed at least `steps` steps.
  v1::Job WaitForStep(const std::string& name, int64_t steps);
  // The worker, or NOT_FOUND.
  absl::StatusOr<v1::Worker> GetWorker(const std::string& name);
  bool WaitForWorkerState(const std::string& name, v1::WorkerState state, absl::Duration timeout = kPatience);
  std::vector<v1::JobEvent> Events(const std::string& name);

  std::string address() const { return address_; }
  std::string metrics_address() const { return metrics_address_; }
  // Folder of this cluster's logs and files.
  const std::string& directory() const { return folder_.path(); }
  // All logs, for messages of failed expectations.
  std::string Logs() const;

 private:
  const TemporaryFolder folder_;
  std::string address_;
  std::string metrics_address_;
  std::unique_ptr<Process> coordinator_;
  std::map<std::string, std::unique_ptr<Process>> workers_;
  std::shared_ptr<grpc::Channel> channel_;
  std::unique_ptr<v1::JobService::Stub> jobs_;
  std::unique_ptr<v1::ClusterService::Stub> cluster_;
};

// Writes byte-token shards of made-up English into `directory`/{train,validation}.bin.
void WriteShards(const std::string& directory, int64_t train_bytes = 60000, int64_t validation_bytes = 8000);

// A spec for a tiny LLaMA on the shards in `data_directory`. Fields that scenarios vary are parameters.
struct TinySpec {
  std::string data_directory;
  std::string output_directory;
  int workers = 2;
  int layers = 4;
  int64_t steps = 20;
  double active_ratio = 0.75;
  int evaluation_interval = 0;
  std::string extra;  // further top-level YAML

  std::string Yaml() const;
};

}  // namespace sdp::testing
