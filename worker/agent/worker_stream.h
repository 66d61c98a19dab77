// The worker's end of WorkerService.Connect: a two-way stream that never blocks its user.
#pragma once

#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>
#include <grpcpp/support/client_callback.h>

#include <deque>
#include <functional>
#include <memory>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "sdp/v1/worker_service.grpc.pb.h"

namespace sdp {

// One stream, from open to end. Callbacks come on gRPC's threads, never under a lock; `on_end` is the last
// one and comes exactly once.
class WorkerStream : private grpc::ClientBidiReactor<v1::ConnectRequest, v1::ConnectResponse> {
 public:
  using OnMessage = std::function<void(const v1::ConnectResponse&)>;
  using OnEnd = std::function<void(absl::Status)>;

  // Opens the stream and sends `first`.
  WorkerStream(std::shared_ptr<grpc::Channel> channel, v1::ConnectRequest first, OnMessage on_message,
               OnEnd on_end);
  // Cancels the stream if it has not ended, and waits for its end.
  ~WorkerStream() override;

  // Queues a message; dropped when the stream has ended.
  void Send(v1::ConnectRequest message);
  // Ends the stream after what is queued, and waits up to `timeout` for its end.
  void CloseAndWait(absl::Duration timeout);

 private:
  void OnWriteDone(bool ok) override;
  void OnReadDone(bool ok) override;
  void OnDone(const grpc::Status& status) override;
  // Starts what comes next in the queue, if nothing is being written.
  void WriteNext() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  std::shared_ptr<grpc::Channel> channel_;
  std::unique_ptr<v1::WorkerService::Stub> stub_;
  grpc::ClientContext context_;
  const OnMessage on_message_;
  const OnEnd on_end_;
  v1::ConnectResponse incoming_;  // between StartRead and OnReadDone

  absl::Mutex mutex_;
  std::deque<v1::ConnectRequest> outgoing_
      ABSL_GUARDED_BY(mutex_);  // the first is being written while writing_
  bool writing_ ABSL_GUARDED_BY(mutex_) = false;
  bool broken_ ABSL_GUARDED_BY(mutex_) =
      false;  // a write failed or the stream is over: nothing more can be sent
  bool closing_ ABSL_GUARDED_BY(mutex_) = false;  // no more messages; WritesDone follows the queue
  bool ended_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace sdp
