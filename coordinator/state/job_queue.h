// Gang start: which queued job starts now, and why the others wait. Stateless.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "common/base/ids.h"

namespace sdp::coordinator {

struct QueuedJob {
  JobId id;
  int min_workers = 1;
  int max_workers = 1;
};

struct QueueDecision {
  struct StartJob {
    JobId id;
    std::vector<WorkerName> workers;
  };
  // At most one job starts; ask again with what is left.
  std::optional<StartJob> start;
  // Why each of the other jobs waits.
  std::vector<std::pair<JobId, std::string>> waits;
};

// First in, first out: only the first job of `queue` may start, on at most max_workers of `idle` (in the
// given order), once min_workers are idle. A job that needs more workers than exist waits like any other.
QueueDecision DecideQueue(const std::vector<QueuedJob>& queue, const std::vector<WorkerName>& idle);

// "a, b, c", or "a, b, c and 5 more": at most `limit` names.
std::string ListNames(const std::vector<WorkerName>& names, size_t limit = 8);
// "1 worker", "3 workers".
std::string Count(int64_t count, const std::string& noun);

}  // namespace sdp::coordinator
