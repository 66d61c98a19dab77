// The coordinator as a gRPC server: the core, its store, its services and its metrics.
#pragma once

#include <atomic>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/base/clock.h"
#include "common/metrics/registry.h"
#include "coordinator/service/cluster_metrics.h"
#include "coordinator/service/cluster_service.h"
#include "coordinator/service/core_runner.h"
#include "coordinator/service/job_service.h"
#include "coordinator/service/plan_service.h"
#include "coordinator/service/watches.h"
#include "coordinator/service/worker_streams.h"
#include "grpcpp/server.h"

namespace sdp::coordinator {

struct ServerOptions {
  std::string listen = "127.0.0.1:0";  // HOST:PORT; port 0 takes a free one
  Timing timing;
  Planner planner;
  // Time between ticks; zero: none but by Tick().
  absl::Duration tick_interval = absl::Milliseconds(100);
  // Number of this process, larger for each new start.
  uint64_t incarnation = 0;
  // These must outlive the server.
  const Clock* clock = nullptr;
  JobStore* store = nullptr;
  Registry* registry = nullptr;
  // Called when the store cannot be written any more; the server says nothing to anyone from then on.
  std::function<void(const absl::Status&)> on_store_failed;
};

class CoordinatorServer : private EffectSink {
 public:
  // UNAVAILABLE: cannot listen at that address.
  static absl::StatusOr<std::unique_ptr<CoordinatorServer>> Start(ServerOptions options);
  ~CoordinatorServer() override;

  int port() const { return port_; }

  // One tick: deadlines, progress to watchers, metrics.
  void Tick();

  // Says NOT_SERVING, ends watches and workers' streams with UNAVAILABLE, and everything else within
  // `timeout`. Idempotent; the destructor does it too.
  void Shutdown(absl::Duration timeout = absl::Seconds(1));

 private:
  explicit CoordinatorServer(ServerOptions options);
  absl::Status Listen();

  void SendToSession(SessionId session, const ToWorker& message) override;
  void CloseSession(SessionId session, const absl::Status& status) override;
  void JobChanged(const JobId& id) override;
  void EventAdded(const JobId& id, const JobEvent& event) override;
  void WriteLog(const Log& log) override;
  void StoreFailed(const absl::Status& status) override;

  const ServerOptions options_;
  Series rpc_series_;
  ClusterMetrics metrics_;
  CoreRunner runner_;
  WorkerStreams worker_streams_;
  Watches watches_;
  JobService job_service_;
  PlanService plan_service_;
  ClusterService cluster_service_;
  std::unique_ptr<grpc::Server> server_;
  int port_ = 0;
  std::unique_ptr<Ticker> ticker_;
};

}  // namespace sdp::coordinator
