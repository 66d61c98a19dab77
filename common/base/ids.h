// Identity of workers, jobs and plans, as types that cannot be mixed up.
#pragma once

#include <cstdint>
#include <ostream>
#include <string>
#include <utility>

namespace sdp {

// A value that is only comparable with values of the same Tag.
template <typename Tag, typename Value>
class StrongId {
 public:
  StrongId() = default;
  explicit StrongId(Value value) : value_(std::move(value)) {}

  const Value& value() const { return value_; }

  friend bool operator==(const StrongId& a, const StrongId& b) { return a.value_ == b.value_; }
  friend bool operator!=(const StrongId& a, const StrongId& b) { return a.value_ != b.value_; }
  friend bool operator<(const StrongId& a, const StrongId& b) { return a.value_ < b.value_; }
  friend std::ostream& operator<<(std::ostream& out, const StrongId& id) { return out << id.value_; }
  template <typename H>
  friend H AbslHashValue(H state, const StrongId& id) {
    return H::combine(std::move(state), id.value_);
  }

 private:
  Value value_{};
};

// Stable name of a worker: survives restarts of its process.
using WorkerName = StrongId<struct WorkerNameTag, std::string>;
// One process of a worker; larger for each new start.
using Incarnation = StrongId<struct IncarnationTag, uint64_t>;
// Identifier of a job, without the "jobs/" of its resource name.
using JobId = StrongId<struct JobIdTag, std::string>;
// Number of a plan within its job, from 1.
using Epoch = StrongId<struct EpochTag, int64_t>;

// Position of a worker in a plan, from 0. Plain int: ranks index vectors everywhere.
using Rank = int;

// The plan of a job that a message is about.
struct AssignmentKey {
  JobId job;
  Epoch epoch;

  friend bool operator==(const AssignmentKey& a, const AssignmentKey& b) {
    return a.job == b.job && a.epoch == b.epoch;
  }
  friend bool operator!=(const AssignmentKey& a, const AssignmentKey& b) { return !(a == b); }
};

}  // namespace sdp
