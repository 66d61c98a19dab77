// The only translation between the wire's specs, plans and names and the model's structs, and the only
// validation of what comes in. The messages between workers and coordinator: worker_wire.h.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/model/job_spec.h"
#include "common/model/plan.h"
#include "sdp/v1/plan.pb.h"
#include "sdp/v1/spec.pb.h"

namespace sdp {

// One thing wrong with a spec.
struct SpecProblem {
  std::string field;    // path as in the spec: "model.llama.heads", "data.train_shards[2]"
  std::string message;  // what is wrong and what would be valid
};

// "field: message", or the message alone when it is about no single field.
std::string ProblemText(const SpecProblem& problem);

// All problems as one INVALID_ARGUMENT, a line each: "field: message", with a google.rpc.BadRequest as
// payload, which is how they travel (common/rpc). `problems` must not be empty.
absl::Status ProblemsToStatus(const std::vector<SpecProblem>& problems);
// The problems that a status carries; none when it is another kind of status.
std::vector<SpecProblem> ProblemsFromStatus(const absl::Status& status);

// Reads a spec in YAML or JSON (JSON is YAML). Enum values in full or without prefix, in any case. Unknown
// fields, wrong types and doubled keys are problems, with the line; all are reported at once. On return the
// message holds what could be read; it is only complete when the result is empty.
std::vector<SpecProblem> ParseSpecText(const std::string& text, v1::JobSpec* spec);

// Changes one field of a spec: `path` as in SpecProblem::field, `value` as one would write it in YAML; empty
// takes the field out. "data.train_shards[1]" replaces one element, or appends it when the list is that long.
// The problems are those of ParseSpecText.
std::vector<SpecProblem> SetSpecField(const std::string& path, const std::string& value, v1::JobSpec* spec);

// The spec as YAML, fields in the proto's order, enum values short.
std::string SpecToYaml(const v1::JobSpec& spec);

// Checks everything that can be checked without opening a file, fills in defaults, and translates. On
// problems (all of them, not the first), `spec` is left unchanged.
std::vector<SpecProblem> ValidateSpec(const v1::JobSpec& proto, JobSpec* spec);

// The complete spec, every default explicit. ValidateSpec of the result gives the same JobSpec.
v1::JobSpec SpecToProto(const JobSpec& spec);

v1::Plan PlanToProto(const Plan& plan);
// INVALID_ARGUMENT names the field: a malformed mask, an index out of range. CheckPlan does the rest.
absl::StatusOr<Plan> PlanFromProto(const v1::Plan& proto);

// "jobs/abc" <-> JobId("abc"). INVALID_ARGUMENT: not of that form.
std::string JobResourceName(const JobId& id);
absl::StatusOr<JobId> JobIdFromResourceName(const std::string& name);
// "workers/abc" <-> WorkerName("abc"). INVALID_ARGUMENT: not of that form.
std::string WorkerResourceName(const WorkerName& name);
absl::StatusOr<WorkerName> WorkerNameFromResourceName(const std::string& name);

// Problem with a name of a worker or job (letters, digits, '-', '_', '.'; 1 to 63 characters); empty when it
// is fine.
std::string NameProblem(const std::string& name);

// Version of WorkerService's protocol; both ends must have the same.
inline constexpr int kProtocolVersion = 1;

}  // namespace sdp
