// Completion of command lines by the shell.
#pragma once

#include <CLI/App.hpp>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "cli/session.h"

namespace sdp::cli {

void AddCompletionCommand(CLI::App& app, Session& session);

// The words that could stand in place of the last of `words`, which may be empty. `app` is the whole program.
// "jobs" and "workers" in `*kind`: names of those would fit as well.
std::vector<std::string> CompletionCandidates(const CLI::App& app, const std::vector<std::string>& words,
                                              std::string* kind);

// Answers the shell: prints the candidates for `words`, one a line. Unreachable coordinators only mean fewer.
void PrintCompletions(const CLI::App& app, const std::vector<std::string>& words, Session& session);

// The script that a shell loads. INVALID_ARGUMENT: no such shell.
absl::StatusOr<std::string> CompletionScript(const std::string& shell);

}  // namespace sdp::cli
