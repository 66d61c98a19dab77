// What service tests talk to: a server in this process, and workers that only speak the protocol.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "coordinator/service/coordinator_server.h"
#include "coordinator/store/memory_job_store.h"
#include "grpcpp/channel.h"
#include "grpcpp/client_context.h"
#include "sdp/v1/cluster_service.grpc.pb.h"
#include "sdp/v1/job_service.grpc.pb.h"
#include "sdp/v1/plan_service.grpc.pb.h"
#include "sdp/v1/worker_service.grpc.pb.h"

namespace sdp::coordinator {

// Limit of every wait in a test; never reached unless something is broken.
inline constexpr absl::Duration kPatience = absl::Seconds(20);

// A clock that moves when told to.
class ManualClock : public Clock {
 public:
  absl::Time Now() const override {
    absl::MutexLock lock(&mutex_);
    return now_;
  }
  void Advance(absl::Duration duration) {
    absl::MutexLock lock(&mutex_);
    now_ += duration;
  }

 private:
  mutable absl::Mutex mutex_;
  absl::Time now_ ABSL_GUARDED_BY(mutex_) = absl::FromUnixSeconds(1000000);
};

// A coordinator without a ticker of its own on a free port.
class TestServer {
 public:
  TestServer();

  std::shared_ptr<grpc::Channel> NewChannel() const;
  // Moves the clock, then ticks once.
  void Advance(absl::Duration duration);
  // Ticks until the condition holds; false when kPatience runs out. The clock hardly moves, however often it
  // ticks: nobody is lost meanwhile.
  bool TickUntil(const std::function<bool()>& condition);

  CoordinatorServer& server() { return *server_; }
  Registry& registry() { return registry_; }
  MemoryJobStore& store() { return store_; }
  v1::JobService::Stub& jobs() { return *jobs_; }
  v1::PlanService::Stub& plans() { return *plans_; }
  v1::ClusterService::Stub& cluster() { return *cluster_; }

  // Creates a job of `workers` workers and `steps` steps; returns its name.
  std::string CreateJob(int workers, int steps);
  v1::Job GetJob(const std::string& name);
  v1::WorkerState StateOf(const std::string& worker);

 private:
  ManualClock clock_;
  MemoryJobStore store_;
  Registry registry_;
  std::unique_ptr<CoordinatorServer> server_;
  std::unique_ptr<v1::JobService::Stub> jobs_;
  std::unique_ptr<v1::PlanService::Stub> plans_;
  std::unique_ptr<v1::ClusterService::Stub> cluster_;
};

// A complete spec of a tiny model.
v1::JobSpec TestSpec(int workers, int steps);

// The worker's side of one Connect stream.
class FakeWorker {
 public:
  // Opens the stream and registers.
  FakeWorker(const TestServer& server, const std::string& name, uint64_t incarnation = 1);
  FakeWorker(const TestServer& server, v1::Register registration);
  // Cancels the stream.
  ~FakeWorker();

  static v1::Register Registration(const std::string& name, uint64_t incarnation = 1);

  void Send(const v1::ConnectRequest& request);
  // The next message, waiting for it; an empty one when the stream has ended.
  v1::ConnectResponse Next();
  // Waits for the next message of this kind, passing over others; false when the stream ends first.
  bool Await(v1::ConnectResponse::MessageCase kind, v1::ConnectResponse* message = nullptr);
  // Waits for the stream's end.
  grpc::Status AwaitEnd();
  // Breaks the stream, as the death of the process would.
  void Die() { context_.TryCancel(); }

  // For the assignment that Await returned last.
  void Report(v1::AssignmentPhase phase, const std::string& error = "");
  void ReportSteps(int64_t committed, double loss);
  void ReportEvaluation(int64_t step, double loss);
  void SendAddress(const std::string& address);
  const v1::Assignment& assignment() const { return assignment_; }

 private:
  void Read();

  std::unique_ptr<v1::WorkerService::Stub> stub_;
  grpc::ClientContext context_;
  std::unique_ptr<grpc::ClientReaderWriter<v1::ConnectRequest, v1::ConnectResponse>> stream_;
  v1::Assignment assignment_;
  int64_t reported_steps_ = 0;

  absl::Mutex mutex_;
  std::deque<v1::ConnectResponse> received_ ABSL_GUARDED_BY(mutex_);
  bool ended_ ABSL_GUARDED_BY(mutex_) = false;
  grpc::Status status_ ABSL_GUARDED_BY(mutex_);
  std::thread reader_;
};

// A WatchJob stream, read by a thread of its own.
class Watcher {
 public:
  Watcher(const TestServer& server, const std::string& job, int64_t after_sequence = 0);
  ~Watcher();

  // Waits until the stream has ended.
  grpc::Status AwaitEnd();
  // Waits until an event of this kind has come, or the stream has ended.
  bool AwaitEvent(v1::JobEventKind kind);
  bool AwaitProgress();
  std::vector<v1::WatchJobResponse> messages();

 private:
  bool AwaitMessage(const std::function<bool(const v1::WatchJobResponse&)>& wanted);

  std::unique_ptr<v1::JobService::Stub> stub_;
  grpc::ClientContext context_;
  absl::Mutex mutex_;
  std::vector<v1::WatchJobResponse> messages_ ABSL_GUARDED_BY(mutex_);
  bool ended_ ABSL_GUARDED_BY(mutex_) = false;
  grpc::Status status_ ABSL_GUARDED_BY(mutex_);
  std::thread reader_;
};

}  // namespace sdp::coordinator
