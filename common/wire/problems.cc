#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/cord.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/base/check.h"
#include "common/wire/wire.h"
#include "google/rpc/error_details.pb.h"

namespace sdp {
namespace {

constexpr char kBadRequestUrl[] = "type.googleapis.com/google.rpc.BadRequest";

}  // namespace

std::string ProblemText(const SpecProblem& problem) {
  return problem.field.empty() ? problem.message : absl::StrCat(problem.field, ": ", problem.message);
}

absl::Status ProblemsToStatus(const std::vector<SpecProblem>& problems) {
  SDP_CHECK(!problems.empty(), "a status needs a problem");
  google::rpc::BadRequest details;
  for (const SpecProblem& problem : problems) {
    auto* violation = details.add_field_violations();
    violation->set_field(problem.field);
    violation->set_description(problem.message);
  }
  absl::Status status = absl::InvalidArgumentError(absl::StrJoin(
      problems, "\n", [](std::string* out, const SpecProblem& p) { absl::StrAppend(out, ProblemText(p)); }));
  status.SetPayload(kBadRequestUrl, absl::Cord(details.SerializeAsString()));
  return status;
}

std::vector<SpecProblem> ProblemsFromStatus(const absl::Status& status) {
  const absl::optional<absl::Cord> payload = status.GetPayload(kBadRequestUrl);
  google::rpc::BadRequest details;
  if (!payload || !details.ParseFromString(std::string(*payload))) return {};
  std::vector<SpecProblem> problems;
  for (const auto& violation : details.field_violations()) {
    problems.push_back({violation.field(), violation.description()});
  }
  return problems;
}

}  // namespace sdp
