// Finds its way through a command line that need not be complete.
#pragma once

#include <CLI/App.hpp>
#include <string>
#include <vector>

namespace sdp::cli {

// Where some words lead.
struct CommandWords {
  const CLI::App* command = nullptr;     // the innermost command
  const CLI::Option* pending = nullptr;  // the option that waits for its value; null when none
  std::string unknown;  // the first word that is no command where one should be; empty when none
};

CommandWords FollowWords(const CLI::App& app, const std::vector<std::string>& words);

// What is wrong with words that lead to no complete command: "no command `lst`; did you mean `list`?". Empty
// when that is not what is wrong.
std::string CommandProblem(const CLI::App& app, const std::vector<std::string>& words);

// The names of the commands right below.
std::vector<std::string> SubcommandNames(const CLI::App& app);

}  // namespace sdp::cli
