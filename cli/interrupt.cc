#include "cli/interrupt.h"

namespace sdp::cli {

void Interrupt::Trigger() {
  absl::MutexLock lock(&mutex_);
  triggered_ = true;
  // Under the lock, which keeps the context alive; TryCancel only posts to gRPC and calls nothing of ours.
  if (call_ != nullptr) call_->TryCancel();
}

bool Interrupt::triggered() const {
  absl::MutexLock lock(&mutex_);
  return triggered_;
}

bool Interrupt::WaitFor(absl::Duration duration) {
  absl::MutexLock lock(&mutex_);
  return mutex_.AwaitWithTimeout(absl::Condition(&triggered_), duration);
}

InterruptibleCall::InterruptibleCall(Interrupt& interrupt, grpc::ClientContext& context)
    : interrupt_(interrupt) {
  absl::MutexLock lock(&interrupt_.mutex_);
  interrupt_.call_ = &context;
  if (interrupt_.triggered_) context.TryCancel();
}

InterruptibleCall::~InterruptibleCall() {
  absl::MutexLock lock(&interrupt_.mutex_);
  interrupt_.call_ = nullptr;
}

}  // namespace sdp::cli
