#include "worker/agent/worker_stream.h"

#include <utility>

#include "common/rpc/status.h"

namespace sdp {

WorkerStream::WorkerStream(std::shared_ptr<grpc::Channel> channel, v1::ConnectRequest first,
                           OnMessage on_message, OnEnd on_end)
    : channel_(std::move(channel)),
      stub_(v1::WorkerService::NewStub(channel_)),
      on_message_(std::move(on_message)),
      on_end_(std::move(on_end)) {
  stub_->async()->Connect(&context_, this);
  Send(std::move(first));
  StartRead(&incoming_);
  // Messages are sent from outside of gRPC's callbacks: without a hold the call could be gone at that moment.
  AddHold();
  StartCall();
}

WorkerStream::~WorkerStream() {
  context_.TryCancel();
  absl::MutexLock lock(&mutex_);
  mutex_.Await(absl::Condition(&ended_));
}

void WorkerStream::Send(v1::ConnectRequest message) {
  absl::MutexLock lock(&mutex_);
  if (broken_ || closing_) return;
  outgoing_.push_back(std::move(message));
  WriteNext();
}

void WorkerStream::CloseAndWait(absl::Duration timeout) {
  absl::MutexLock lock(&mutex_);
  closing_ = true;
  WriteNext();
  // When it does not end in time, the destructor cancels it.
  mutex_.AwaitWithTimeout(absl::Condition(&ended_), timeout);
}

void WorkerStream::WriteNext() {
  if (writing_ || broken_) return;
  if (!outgoing_.empty()) {
    writing_ = true;
    StartWrite(&outgoing_.front());
  } else if (closing_) {
    broken_ = true;
    StartWritesDone();
  }
}

void WorkerStream::OnWriteDone(bool ok) {
  absl::MutexLock lock(&mutex_);
  writing_ = false;
  if (!ok) {
    broken_ = true;
    outgoing_.clear();
    return;
  }
  outgoing_.pop_front();
  WriteNext();
}

void WorkerStream::OnReadDone(bool ok) {
  if (!ok) {  // the stream is over
    {
      absl::MutexLock lock(&mutex_);
      broken_ = true;
    }
    RemoveHold();  // nothing more is sent: OnDone may follow
    return;
  }
  on_message_(incoming_);
  incoming_.Clear();
  StartRead(&incoming_);
}

void WorkerStream::OnDone(const grpc::Status& status) {
  on_end_(FromGrpc(status));
  absl::MutexLock lock(&mutex_);
  ended_ = true;
}

}  // namespace sdp
