#include "coordinator/service/worker_streams.h"

#include <deque>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/rpc/status.h"
#include "common/wire/worker_wire.h"
#include "spdlog/spdlog.h"

namespace sdp::coordinator {

// The write queue is bounded by what the core sends before it counts a worker as lost: a few messages.
class WorkerStreams::Stream : public grpc::ServerBidiReactor<v1::ConnectRequest, v1::ConnectResponse> {
 public:
  Stream(WorkerStreams* owner, SessionId session) : owner_(*owner), session_(session) {}

  // gRPC owns a stream from here until OnDone.
  void Begin(std::shared_ptr<Stream> self) ABSL_LOCKS_EXCLUDED(mutex_) {
    self_ = std::move(self);
    Read();
  }

  void Write(v1::ConnectResponse message) ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    if (end_.has_value()) return;
    queue_.push_back(std::move(message));
    if (queue_.size() == 1) StartWrite(&queue_.front());
  }

  void End(const absl::Status& status) ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    if (end_.has_value()) return;
    end_ = ToGrpc(status);
    if (queue_.empty()) Finish(*end_);
  }

  void OnReadDone(bool ok) override {
    if (!ok) {  // the worker closed its side, or the connection is gone
      owner_.Remove(session_, "its stream closed");
      End(absl::OkStatus());
      return;
    }
    Receive();
    Read();
  }

  void OnWriteDone(bool ok) override {
    absl::MutexLock lock(&mutex_);
    queue_.pop_front();
    if (!ok) {
      queue_.clear();
      if (!end_.has_value()) end_ = grpc::Status(grpc::StatusCode::UNAVAILABLE, "the stream broke");
    }
    if (!queue_.empty()) {
      StartWrite(&queue_.front());
    } else if (end_.has_value()) {
      Finish(*end_);
    }
  }

  void OnDone() override {
    owner_.Remove(session_, "its stream ended");
    const std::shared_ptr<Stream> last = std::move(self_);
  }

 private:
  // Nothing may be started after Finish, so nothing is once the end is decided.
  void Read() ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    if (!end_.has_value()) StartRead(&request_);
  }

  void Receive() {
    if (!registered_) {
      absl::StatusOr<Registration> registration =
          request_.has_register_() ? RegistrationFromProto(request_.register_())
                                   : absl::InvalidArgumentError("the first message must be Register");
      if (!registration.ok()) {
        spdlog::warn("a worker was refused: {}", std::string(registration.status().message()));
        return End(registration.status());
      }
      registered_ = true;
      name_ = registration->worker.value();
      return owner_.runner_.Step(RegisterWorker{session_, *std::move(registration)});
    }
    absl::StatusOr<FromWorker> body = MessageFromProto(request_);
    if (!body.ok()) {
      spdlog::warn("ignored a message of worker {}: {}", name_, std::string(body.status().message()));
      return;
    }
    owner_.runner_.Step(WorkerMessage{session_, *std::move(body)});
  }

  WorkerStreams& owner_;
  const SessionId session_;
  std::shared_ptr<Stream> self_;

  // Reads come one after another; only they touch these.
  v1::ConnectRequest request_;
  bool registered_ = false;
  std::string name_;

  absl::Mutex mutex_;
  std::deque<v1::ConnectResponse> queue_ ABSL_GUARDED_BY(mutex_);  // the first is being written
  std::optional<grpc::Status> end_ ABSL_GUARDED_BY(mutex_);        // how the stream ends, once it is to end
};

grpc::ServerBidiReactor<v1::ConnectRequest, v1::ConnectResponse>* WorkerStreams::Connect(
    grpc::CallbackServerContext*) {
  std::shared_ptr<Stream> stream;
  absl::Status shutdown;
  {
    absl::MutexLock lock(&mutex_);
    shutdown = shutdown_;
    const SessionId session(++last_session_);
    stream = std::make_shared<Stream>(this, session);
    if (shutdown.ok()) streams_[session] = stream;
  }
  if (!shutdown.ok()) stream->End(shutdown);
  stream->Begin(stream);
  return stream.get();
}

void WorkerStreams::SendTo(SessionId session, ToWorker message) {
  if (auto* welcome = std::get_if<Welcome>(&message)) welcome->coordinator_incarnation = incarnation_;
  const std::shared_ptr<Stream> stream = Find(session);
  if (stream != nullptr) stream->Write(MessageToProto(message));
}

void WorkerStreams::Close(SessionId session, const absl::Status& status) {
  const std::shared_ptr<Stream> stream = Find(session);
  if (stream != nullptr) stream->End(status);
}

void WorkerStreams::ShutDown(const absl::Status& status) {
  std::map<SessionId, std::shared_ptr<Stream>> streams;
  {
    absl::MutexLock lock(&mutex_);
    shutdown_ = status;
    streams.swap(streams_);
  }
  for (const auto& [session, stream] : streams) stream->End(status);
}

std::shared_ptr<WorkerStreams::Stream> WorkerStreams::Find(SessionId session) {
  absl::MutexLock lock(&mutex_);
  auto found = streams_.find(session);
  return found == streams_.end() ? nullptr : found->second;
}

void WorkerStreams::Remove(SessionId session, const std::string& reason) {
  {
    absl::MutexLock lock(&mutex_);
    if (streams_.erase(session) == 0) return;
  }
  runner_.Step(SessionClosed{session, reason});
}

}  // namespace sdp::coordinator
