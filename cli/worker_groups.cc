#include "cli/worker_groups.h"

#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/base/quantities.h"
#include "common/base/status_macros.h"

namespace sdp::cli {
namespace {

constexpr char kForms[] =
    "8 (equal workers), 4x80GiB,4x40GiB (groups of COUNTxMEMORY), 4x80GiB@2,4x40GiB (with relative speeds) "
    "or "
    "live (the workers in the cluster)";

// What is wrong with `item`, and how the whole argument is written.
absl::Status Wrong(absl::string_view item, absl::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat("\"", item, "\": ", what, ". Possible are ", kForms));
}

absl::StatusOr<int> ParseNumberOfWorkers(absl::string_view item, absl::string_view text) {
  int count;
  if (!absl::SimpleAtoi(text, &count) || count < 1) {
    return Wrong(item,
                 absl::StrCat("the number of workers is \"", text, "\"; must be a whole number above 0"));
  }
  return count;
}

absl::StatusOr<double> ParseSpeed(absl::string_view item, absl::string_view text) {
  double speed;
  if (!absl::SimpleAtod(text, &speed) || !std::isfinite(speed) || speed <= 0) {
    return Wrong(item, absl::StrCat("the relative speed is \"", text, "\"; must be a number above 0"));
  }
  return speed;
}

// COUNT[xMEMORY][@SPEED]
absl::StatusOr<v1::WorkerGroup> ParseGroup(absl::string_view item) {
  v1::WorkerGroup group;
  const std::pair<absl::string_view, absl::string_view> at = absl::StrSplit(item, absl::MaxSplits('@', 1));
  if (at.first.size() < item.size()) {
    SDP_ASSIGN_OR_RETURN(const double speed, ParseSpeed(item, absl::StripAsciiWhitespace(at.second)));
    group.set_relative_speed(speed);
  }
  const std::pair<absl::string_view, absl::string_view> times =
      absl::StrSplit(at.first, absl::MaxSplits(absl::ByAnyChar("xX"), 1));
  SDP_ASSIGN_OR_RETURN(const int count, ParseNumberOfWorkers(item, absl::StripAsciiWhitespace(times.first)));
  group.set_count(count);
  if (times.first.size() < at.first.size()) {
    const absl::StatusOr<int64_t> bytes = ParseBytes(times.second);
    if (!bytes.ok()) return Wrong(item, absl::StrCat("the memory ", bytes.status().message()));
    group.set_memory_budget_bytes(*bytes);
  }
  return group;
}

}  // namespace

absl::Status ParseWorkers(absl::string_view text, v1::PlanJobRequest* request) {
  text = absl::StripAsciiWhitespace(text);
  if (absl::AsciiStrToLower(text) == "live") {
    request->set_live_workers(true);
    return absl::OkStatus();
  }
  std::vector<v1::WorkerGroup> groups;
  for (const absl::string_view item : absl::StrSplit(text, ',')) {
    SDP_ASSIGN_OR_RETURN(v1::WorkerGroup group, ParseGroup(absl::StripAsciiWhitespace(item)));
    groups.push_back(std::move(group));
  }
  const bool plain =
      groups.size() == 1 && groups[0].memory_budget_bytes() == 0 && groups[0].relative_speed() == 0;
  if (plain) {
    request->set_workers(groups[0].count());
  } else {
    for (v1::WorkerGroup& group : groups) *request->add_worker_groups() = std::move(group);
  }
  return absl::OkStatus();
}

}  // namespace sdp::cli
