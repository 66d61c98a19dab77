#include "worker/averaging/transport.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "worker/averaging/suspect.h"

namespace sdp {

absl::Status PeerGone(Rank peer, absl::string_view why) {
  return WithSuspect(absl::UnavailableError(absl::StrCat("rank ", peer, " is gone: ", why)), peer);
}

void Transport::Interrupt(absl::Status reason) {
  absl::MutexLock lock(&mutex_);
  FailLocked(std::move(reason));
}

absl::Status Transport::failure() const {
  absl::MutexLock lock(&mutex_);
  return failure_;
}

Rank Transport::waiting_for() const {
  absl::MutexLock lock(&mutex_);
  return waiting_for_;
}

void Transport::FailLocked(absl::Status reason) {
  if (reason.ok() || !failure_.ok()) return;
  failure_ = std::move(reason);
  changed_.SignalAll();
  Wake();
}

void Transport::OnParting(Rank peer, Parting parting, absl::Status why) {
  absl::MutexLock lock(&mutex_);
  switch (parting) {
    case Parting::kLeft:
      left_[peer] = true;
      changed_.SignalAll();
      return;
    case Parting::kLost:
      FailLocked(PeerGone(peer, why.message()));
      return;
    case Parting::kFailed:
      if (failure_.ok()) failure_is_reported_ = true;
      FailLocked(std::move(why));
      return;
  }
}

absl::Status Transport::LastWord() const {
  absl::MutexLock lock(&mutex_);
  if (failure_.ok() || failure_is_reported_) return failure_;
  const absl::StatusCode code = absl::IsDeadlineExceeded(failure_) ? absl::StatusCode::kDeadlineExceeded
                                                                   : absl::StatusCode::kUnavailable;
  // Who names no suspect failed by itself.
  return WithSuspect(absl::Status(code, absl::StrCat("rank ", rank_, " reports: ", failure_.message())),
                     SuspectedRank(failure_).value_or(rank_));
}

absl::Status Transport::Obstacle(Rank peer) const {
  if (!failure_.ok()) return failure_;
  if (left_[peer]) return PeerGone(peer, "it left the mesh");
  return absl::OkStatus();
}

}  // namespace sdp
