// sdpctl data ...
#pragma once

#include <CLI/App.hpp>

#include "cli/session.h"

namespace sdp::cli {

void AddDataCommands(CLI::App& app, Session& session);

}  // namespace sdp::cli
