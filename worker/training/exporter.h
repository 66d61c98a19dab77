// Writing the full model, which no worker holds, as one safetensors file for each worker that provides a
// part.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/model/job_spec.h"
#include "common/model/parameter_table.h"
#include "common/model/plan.h"
#include "worker/averaging/communicator.h"
#include "worker/training/subnetwork.h"

namespace sdp {

// Writes this rank's part into `directory`, which rank 0 makes when it is missing; rank 0 also writes
// config.json and, last of all, the index that makes the shards a model. Returns the names of the files that
// this rank wrote, once all ranks have written theirs. A collective call; when one rank fails, so do all:
// that one with its own error, the others with FAILED_PRECONDITION that names its rank. Errors name the file:
// PERMISSION_DENIED; RESOURCE_EXHAUSTED, disk full; NOT_FOUND, the ranks see different folders.
absl::StatusOr<std::vector<std::string>> ExportModel(const JobSpec& spec, const ParameterTable& table,
                                                     const Plan& plan, Rank rank,
                                                     const Subnetwork& subnetwork,
                                                     const std::string& directory, Communicator& world);

}  // namespace sdp
