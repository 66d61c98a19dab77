// The spec of a command: a file or standard input, with changes from the command line.
#pragma once

#include <CLI/App.hpp>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "cli/session.h"
#include "sdp/v1/spec.pb.h"

namespace sdp::cli {

struct SpecSource {
  std::string file;                  // "-": standard input
  std::vector<std::string> changes;  // "path=value", applied in order
  std::string seed;                  // empty: as in the spec
};

// Adds -f, --set and --seed.
void AddSpecOptions(CLI::App& command, SpecSource* source);

// Reads, changes and checks the spec. INVALID_ARGUMENT with all problems (ProblemsFromStatus), or NOT_FOUND
// and PERMISSION_DENIED of the file.
absl::StatusOr<v1::JobSpec> LoadSpec(const SpecSource& source, Session& session);

}  // namespace sdp::cli
