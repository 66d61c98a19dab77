// Rendezvous of ranks in one process, for tests.
#pragma once

#include <map>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "worker/averaging/communicator.h"

namespace sdp {

// The address book that all ranks share.
class AddressBook {
 public:
  void Set(Rank rank, std::string address) {
    absl::MutexLock lock(&mutex_);
    addresses_[rank] = std::move(address);
  }
  // Ends all waiting, now and later, with CANCELLED.
  void Cancel(std::string reason) {
    absl::MutexLock lock(&mutex_);
    cancelled_ = absl::CancelledError(reason);
  }
  // Blocks until somebody has asked for an address that is known: the attempts have got as far as connecting.
  void WaitForReader() {
    absl::MutexLock lock(&mutex_);
    mutex_.Await(absl::Condition(&read_));
  }

  absl::StatusOr<std::string> Get(Rank rank, absl::Time deadline) {
    absl::MutexLock lock(&mutex_);
    const auto decided = [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
      return !cancelled_.ok() || addresses_.count(rank) > 0;
    };
    if (!mutex_.AwaitWithDeadline(absl::Condition(&decided), deadline)) {
      return absl::DeadlineExceededError(absl::StrCat("rank ", rank, " has not published its address"));
    }
    if (!cancelled_.ok()) return cancelled_;
    read_ = true;
    return addresses_[rank];
  }

 private:
  absl::Mutex mutex_;
  std::map<Rank, std::string> addresses_ ABSL_GUARDED_BY(mutex_);
  absl::Status cancelled_ ABSL_GUARDED_BY(mutex_);
  bool read_ ABSL_GUARDED_BY(mutex_) = false;
};

class LocalRendezvous : public Rendezvous {
 public:
  LocalRendezvous(AddressBook& book, Rank rank) : book_(book), rank_(rank) {}

  absl::Status Publish(std::string address) override {
    book_.Set(rank_, std::move(address));
    return absl::OkStatus();
  }
  absl::StatusOr<std::string> AddressOf(Rank rank, absl::Time deadline) override {
    return book_.Get(rank, deadline);
  }

 private:
  AddressBook& book_;
  const Rank rank_;
};

}  // namespace sdp
