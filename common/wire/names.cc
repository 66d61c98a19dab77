#include <string>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "common/wire/wire.h"

namespace sdp {
namespace {

constexpr absl::string_view kJobs = "jobs/";
constexpr absl::string_view kWorkers = "workers/";
constexpr size_t kMaxNameLength = 63;

// The part of `name` after `collection`, checked.
absl::StatusOr<std::string> ResourceId(absl::string_view name, absl::string_view collection) {
  absl::string_view id = name;
  if (!absl::ConsumePrefix(&id, collection)) {
    return absl::InvalidArgumentError(
        absl::StrCat("name: is \"", name, "\"; must be of the form ", collection, "NAME"));
  }
  if (const std::string problem = NameProblem(std::string(id)); !problem.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("name: \"", name, "\": what follows ", collection, " ", problem));
  }
  return std::string(id);
}

}  // namespace

std::string NameProblem(const std::string& name) {
  bool fine = !name.empty() && name.size() <= kMaxNameLength;
  for (const char c : name) {
    fine = fine && (absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '-' || c == '_' || c == '.');
  }
  return fine ? "" : "must be 1 to 63 letters, digits, '-', '_' or '.'";
}

std::string JobResourceName(const JobId& id) { return absl::StrCat(kJobs, id.value()); }

absl::StatusOr<JobId> JobIdFromResourceName(const std::string& name) {
  absl::StatusOr<std::string> id = ResourceId(name, kJobs);
  if (!id.ok()) return id.status();
  return JobId(*std::move(id));
}

std::string WorkerResourceName(const WorkerName& name) { return absl::StrCat(kWorkers, name.value()); }

absl::StatusOr<WorkerName> WorkerNameFromResourceName(const std::string& name) {
  absl::StatusOr<std::string> id = ResourceId(name, kWorkers);
  if (!id.ok()) return id.status();
  return WorkerName(*std::move(id));
}

}  // namespace sdp
