#include "cli/command_words.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/wire/enum_text.h"
#include "common/wire/suggest.h"

namespace sdp::cli {
namespace {

// The option of `app`, or of the commands above it, that `word` names; null when none.
const CLI::Option* FindOption(const CLI::App* app, const std::string& word) {
  for (; app != nullptr; app = app->get_parent()) {
    for (const CLI::Option* option : app->get_options()) {
      if (!option->get_positional() && option->check_name(word)) return option;
    }
  }
  return nullptr;
}

const CLI::App* FindSubcommand(const CLI::App* app, const std::string& word) {
  for (const CLI::App* subcommand : app->get_subcommands({})) {
    if (subcommand->check_name(word)) return subcommand;
  }
  return nullptr;
}

}  // namespace

CommandWords FollowWords(const CLI::App& app, const std::vector<std::string>& words) {
  CommandWords result;
  result.command = &app;
  for (const std::string& word : words) {
    if (result.pending != nullptr) {
      result.pending = nullptr;
    } else if (absl::StartsWith(word, "-")) {
      const CLI::Option* option = FindOption(result.command, word);
      if (option != nullptr && option->get_items_expected_max() > 0) result.pending = option;
    } else if (const CLI::App* subcommand = FindSubcommand(result.command, word)) {
      result.command = subcommand;
    } else if (result.unknown.empty() && !result.command->get_subcommands({}).empty()) {
      result.unknown = word;
    }
  }
  return result;
}

std::string CommandProblem(const CLI::App& app, const std::vector<std::string>& words) {
  const CommandWords found = FollowWords(app, words);
  const std::vector<std::string> names = SubcommandNames(*found.command);
  if (names.empty()) return "";
  if (found.unknown.empty()) {
    return absl::StrCat("`", found.command->get_name(), "` needs a command: ", JoinChoices(names));
  }
  const std::string near = ClosestName(found.unknown, names);
  return absl::StrCat("no command `", found.unknown, "`; ",
                      near.empty() ? "must be " + JoinChoices(names) : "did you mean `" + near + "`?");
}

std::vector<std::string> SubcommandNames(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* subcommand : app.get_subcommands({})) names.push_back(subcommand->get_name());
  return names;
}

}  // namespace sdp::cli
