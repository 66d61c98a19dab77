// Ctrl-C, as something that waits can be woken by.
#pragma once

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "grpcpp/client_context.h"

namespace sdp::cli {

// Thread-safe.
class Interrupt {
 public:
  // From now on everything is interrupted: the call under way, and each later one.
  void Trigger();
  bool triggered() const;
  // Waits. Returns whether it was interrupted.
  bool WaitFor(absl::Duration duration);

 private:
  friend class InterruptibleCall;

  mutable absl::Mutex mutex_;
  bool triggered_ ABSL_GUARDED_BY(mutex_) = false;
  grpc::ClientContext* call_ ABSL_GUARDED_BY(mutex_) = nullptr;
};

// Cancels `context`'s call when the interrupt is triggered while this lives, or was before. One at a time.
class InterruptibleCall {
 public:
  InterruptibleCall(Interrupt& interrupt, grpc::ClientContext& context);
  ~InterruptibleCall();
  InterruptibleCall(const InterruptibleCall&) = delete;
  InterruptibleCall& operator=(const InterruptibleCall&) = delete;

 private:
  Interrupt& interrupt_;
};

}  // namespace sdp::cli
