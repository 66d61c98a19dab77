#include "cli/session.h"

#include "absl/strings/str_cat.h"

namespace sdp::cli {

absl::Status Session::RefuseNameOutput() const {
  if (options.output != OutputFormat::kName) return absl::OkStatus();
  return absl::InvalidArgumentError(
      "-o name: what this command prints has no name; use table, wide, json or yaml");
}

std::string Session::CommandText(const std::string& arguments) const {
  const bool is_default = options.coordinator == GlobalOptions().coordinator;
  return absl::StrCat("sdpctl ", arguments,
                      is_default ? "" : absl::StrCat(" --coordinator ", options.coordinator));
}

}  // namespace sdp::cli
