#include "coordinator/state/failure.h"

#include <algorithm>
#include <map>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "coordinator/state/job_queue.h"

namespace sdp::coordinator {
namespace {

std::string Text(const absl::Status& status) {
  const std::string message(status.message());
  return message.empty() ? absl::StatusCodeToString(status.code()) : message;
}

std::string DescribeLosses(const std::vector<FailureEvidence>& lost, const std::string& when) {
  if (lost.size() == 1) {
    return absl::StrCat("worker ", lost[0].worker.value(), " was lost ", when, ": ", Text(lost[0].error));
  }
  std::vector<WorkerName> names;
  std::vector<std::string> reasons;
  for (const FailureEvidence& loss : lost) {
    names.push_back(loss.worker);
    if (reasons.size() < 8) reasons.push_back(absl::StrCat(loss.worker.value(), ": ", Text(loss.error)));
  }
  return absl::StrCat("workers ", ListNames(names), " were lost ", when, " (", absl::StrJoin(reasons, "; "),
                      ")");
}

}  // namespace

std::string DescribeRootCause(const std::vector<FailureEvidence>& evidence, const std::string& when) {
  std::vector<FailureEvidence> lost;
  for (const FailureEvidence& item : evidence) {
    if (item.lost) lost.push_back(item);
  }
  if (!lost.empty()) return DescribeLosses(lost, when);
  auto cause = std::find_if(evidence.begin(), evidence.end(), [](const FailureEvidence& item) {
    return item.suspected_worker.value().empty() && !absl::IsCancelled(item.error);
  });
  if (cause == evidence.end()) cause = evidence.begin();
  std::string text =
      absl::StrCat("worker ", cause->worker.value(), " failed ", when, ": ", Text(cause->error));
  if (!cause->suspected_worker.value().empty()) {
    absl::StrAppend(&text, " (it suspects worker ", cause->suspected_worker.value(), ")");
  }
  return text;
}

std::string DescribeFingerprintMismatch(
    const std::vector<std::pair<WorkerName, std::vector<ShardFingerprint>>>& seen) {
  std::vector<std::string> paths;  // in the order in which they are first reported
  for (const auto& [worker, shards] : seen) {
    for (const ShardFingerprint& shard : shards) {
      if (std::find(paths.begin(), paths.end(), shard.path) == paths.end()) paths.push_back(shard.path);
    }
  }
  std::vector<std::string> differences;
  for (const std::string& path : paths) {
    std::map<std::string, std::vector<WorkerName>> views;
    for (const auto& [worker, shards] : seen) {
      auto found = std::find_if(shards.begin(), shards.end(),
                                [&path = path](const ShardFingerprint& s) { return s.path == path; });
      const std::string view = found == shards.end()
                                   ? "no such file"
                                   : absl::StrCat(found->bytes, " bytes, hash ", found->sampled_hash);
      views[view].push_back(worker);
    }
    if (views.size() == 1) continue;
    std::vector<std::string> parts;
    for (const auto& [view, workers] : views) {
      parts.push_back(
          absl::StrCat(view, " on ", workers.size() == 1 ? "worker " : "workers ", ListNames(workers)));
    }
    differences.push_back(
        absl::StrCat("data file ", path, " is not the same on all workers: ", absl::StrJoin(parts, "; ")));
  }
  return absl::StrJoin(differences, ". ");
}

}  // namespace sdp::coordinator
