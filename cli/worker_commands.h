// sdpctl worker ...
#pragma once

#include <CLI/App.hpp>

#include "cli/session.h"

namespace sdp::cli {

void AddWorkerCommands(CLI::App& app, Session& session);

}  // namespace sdp::cli
