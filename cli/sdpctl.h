// The program, as a function.
#pragma once

#include <string>
#include <vector>

#include "cli/session.h"

namespace sdp::cli {

// Runs `sdpctl ARGUMENTS`. Returns the exit code (exit_code.h).
int RunSdpctl(const std::vector<std::string>& arguments, Environment& environment);

}  // namespace sdp::cli
