// sdpctl plan
#pragma once

#include <CLI/App.hpp>

#include "cli/session.h"

namespace sdp::cli {

void AddPlanCommand(CLI::App& app, Session& session);

}  // namespace sdp::cli
