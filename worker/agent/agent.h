// The worker daemon: carries out what AgentCore decides.
#pragma once

#include <grpcpp/channel.h>

#include <deque>
#include <memory>
#include <optional>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "common/base/clock.h"
#include "common/model/worker_messages.h"
#include "worker/agent/agent_core.h"
#include "worker/agent/session.h"
#include "worker/agent/worker_metrics.h"
#include "worker/agent/worker_stream.h"

namespace sdp {

struct AgentOptions {
  std::string coordinator;  // HOST:PORT
  WorkerName name;
  Incarnation incarnation;
  std::string software_version;
  std::string bind_address;
  std::string advertised_address;
  int threads = 1;
  int64_t memory_bytes = 0;
  double relative_speed = 1.0;
};

class Agent {
 public:
  // `metrics` may be null. It must outlive the agent.
  Agent(AgentOptions options, WorkerMetrics* metrics);
  ~Agent();

  // Runs until asked to shut down (OK) or until the coordinator refuses this worker for good (its error).
  absl::Status Run();
  // From any thread, any number of times.
  void RequestShutdown(const std::string& reason);

 private:
  class Listener;

  // What has happened, with the parts of it that the core need not see.
  struct Input {
    // Nothing: there is nothing to decide.
    std::optional<agent::Event> event;
    uint64_t stream = 0;                       // number of the stream it came from; 0: not from a stream
    absl::StatusOr<Assignment> assignment;     // with AssignmentReceived; an error: it cannot be carried out
    std::optional<RendezvousAddress> address;  // of a peer
  };

  struct InputWriter;

  void Post(agent::Event event);
  Input NextInput(absl::Time deadline);
  void OnMessage(uint64_t stream, const v1::ConnectResponse& proto);
  void DeliverAddress(RendezvousAddress address);

  void CarryOut(const agent::Effect& effect, const Input& input);
  void Do(const agent::OpenStream& effect, const Input& input);
  void Do(const agent::CloseStream& effect, const Input& input);
  void Do(const agent::SendHeartbeat& effect, const Input& input);
  void Do(const agent::SendStatus& effect, const Input& input);
  void Do(const agent::SendStepReport& effect, const Input& input);
  void Do(const agent::SendLeave& effect, const Input& input);
  void Do(const agent::StartSession& effect, const Input& input);
  void Do(const agent::ReleaseSession& effect, const Input& input);
  void Do(const agent::AbortSession& effect, const Input& input);
  void Do(const agent::DropSession& effect, const Input& input);
  void Do(const agent::Note& effect, const Input& input);
  void Do(const agent::Exit& effect, const Input& input);

  void Send(const FromWorker& message);

  const AgentOptions options_;
  WorkerMetrics* const metrics_;
  const Clock clock_;
  agent::AgentCore core_;

  // Only the thread in Run() touches these; sessions and streams reach it through the queue.
  std::unique_ptr<Listener> listener_;
  std::unique_ptr<Session> session_;
  uint64_t stream_number_ = 0;
  bool exiting_ = false;
  absl::Status exit_status_;

  absl::Mutex mutex_;
  std::deque<Input> inputs_ ABSL_GUARDED_BY(mutex_);
  std::shared_ptr<WorkerStream> stream_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace sdp
