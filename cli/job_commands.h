// sdpctl job ...
#pragma once

#include <CLI/App.hpp>

#include "cli/session.h"

namespace sdp::cli {

void AddJobCommands(CLI::App& app, Session& session);

}  // namespace sdp::cli
