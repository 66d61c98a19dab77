// Gloo writes to sockets without MSG_NOSIGNAL: a peer that is gone would end this process by SIGPIPE.
#pragma once

#include <pthread.h>
#include <signal.h>

namespace sdp {

// Blocks SIGPIPE in the calling thread while it lives; threads started meanwhile inherit the block for good.
class ScopedSigpipeBlock {
 public:
  ScopedSigpipeBlock() {
    sigset_t pipe;
    sigemptyset(&pipe);
    sigaddset(&pipe, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &pipe, &before_);
  }
  ~ScopedSigpipeBlock() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  ScopedSigpipeBlock(const ScopedSigpipeBlock&) = delete;
  ScopedSigpipeBlock& operator=(const ScopedSigpipeBlock&) = delete;

 private:
  sigset_t before_;
};

}  // namespace sdp
