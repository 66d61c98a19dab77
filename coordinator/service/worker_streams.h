// WorkerService: one two-way stream per worker. Translates and delegates; the core decides.
#pragma once

#include <cstdint>
#include <map>
#include <memory>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "coordinator/service/core_runner.h"
#include "sdp/v1/worker_service.grpc.pb.h"

namespace sdp::coordinator {

// Thread-safe. Must outlive the server that it is registered with.
class WorkerStreams : public v1::WorkerService::CallbackService {
 public:
  WorkerStreams(uint64_t coordinator_incarnation, CoreRunner* runner)
      : incarnation_(coordinator_incarnation), runner_(*runner) {}

  grpc::ServerBidiReactor<v1::ConnectRequest, v1::ConnectResponse>* Connect(
      grpc::CallbackServerContext* context) override;

  // Queues a message; nothing when the session has ended. A Welcome gets the coordinator's incarnation here.
  void SendTo(SessionId session, ToWorker message);
  // Ends the session's stream once everything queued is sent.
  void Close(SessionId session, const absl::Status& status);
  // Ends all streams, present and future. What happens to them from now on is no news for the core: it is the
  // coordinator that goes, not the workers.
  void ShutDown(const absl::Status& status);

 private:
  class Stream;

  std::shared_ptr<Stream> Find(SessionId session);
  void Remove(SessionId session, const std::string& reason);

  const uint64_t incarnation_;
  CoreRunner& runner_;

  absl::Mutex mutex_;
  int64_t last_session_ ABSL_GUARDED_BY(mutex_) = 0;
  std::map<SessionId, std::shared_ptr<Stream>> streams_ ABSL_GUARDED_BY(mutex_);
  absl::Status shutdown_ ABSL_GUARDED_BY(mutex_);  // not OK after ShutDown
};

}  // namespace sdp::coordinator
