#include "coordinator/state/job_queue.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace sdp::coordinator {

std::string ListNames(const std::vector<WorkerName>& names, size_t limit) {
  std::string list;
  const size_t shown = std::min(names.size(), limit);
  for (size_t i = 0; i < shown; ++i) absl::StrAppend(&list, i == 0 ? "" : ", ", names[i].value());
  if (shown < names.size()) absl::StrAppend(&list, " and ", names.size() - shown, " more");
  return list;
}

std::string Count(int64_t count, const std::string& noun) {
  return absl::StrCat(count, " ", noun, count == 1 ? "" : "s");
}

QueueDecision DecideQueue(const std::vector<QueuedJob>& queue, const std::vector<WorkerName>& idle) {
  QueueDecision decision;
  for (size_t i = 0; i < queue.size(); ++i) {
    const QueuedJob& job = queue[i];
    if (i > 0) {
      decision.waits.emplace_back(job.id, absl::StrCat("waits behind jobs/", queue[i - 1].id.value()));
    } else if (static_cast<int>(idle.size()) < job.min_workers) {
      const std::string free = idle.empty()       ? "none is free"
                               : idle.size() == 1 ? absl::StrCat("1 is free: ", ListNames(idle))
                                                  : absl::StrCat(idle.size(), " are free: ", ListNames(idle));
      decision.waits.emplace_back(job.id,
                                  absl::StrCat("waits for ", Count(job.min_workers, "worker"), ", ", free));
    } else {
      const size_t taken = std::min<size_t>(idle.size(), job.max_workers);
      decision.start = QueueDecision::StartJob{job.id, {idle.begin(), idle.begin() + taken}};
    }
  }
  return decision;
}

}  // namespace sdp::coordinator
