#include "cli/completion.h"

#include <cstdlib>
#include <memory>
#include <ostream>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "cli/client.h"
#include "cli/command_words.h"
#include "cli/exit_code.h"
#include "common/base/status_macros.h"
#include "common/wire/enum_maps.h"
#include "common/wire/enum_text.h"

namespace sdp::cli {
namespace {

constexpr char kBash[] = R"(_sdpctl() {
  local IFS=$'\n'
  COMPREPLY=($(sdpctl __complete "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null))
}
complete -o default -F _sdpctl sdpctl
)";
constexpr char kZsh[] = R"(#compdef sdpctl
_sdpctl() {
  local -a candidates
  candidates=("${(@f)$(sdpctl __complete "${(@)words[2,CURRENT]}" 2>/dev/null)}")
  if [[ -n "${candidates[*]}" ]]; then compadd -a candidates; else _files; fi
}
compdef _sdpctl sdpctl
)";
constexpr char kFish[] = R"(function __sdpctl_complete
  set -l words (commandline -opc) (commandline -ct)
  sdpctl __complete $words[2..-1] 2>/dev/null
end
complete -c sdpctl -a '(__sdpctl_complete)'
)";

void AddOptionNames(const CLI::App* app, std::vector<std::string>* words) {
  for (; app != nullptr; app = app->get_parent()) {
    for (const CLI::Option* option : app->get_options()) {
      for (const std::string& name : option->get_lnames()) words->push_back("--" + name);
      for (const std::string& name : option->get_snames()) words->push_back("-" + name);
    }
  }
}

// The list that `prefix` begins, with each generator that it does not have yet: "full,r" -> "full,random".
std::vector<std::string> GeneratorLists(const std::string& prefix) {
  const size_t comma = prefix.rfind(',');
  const std::string before = comma == std::string::npos ? "" : prefix.substr(0, comma + 1);
  std::vector<std::string> lists;
  for (const auto& [generator, wire] : kMaskGenerators) {
    const std::string name = ShortEnumName(wire);
    if (!absl::StrContains("," + before, "," + name + ",")) lists.push_back(before + name);
  }
  return lists;
}

// The values of an option that has a fixed list of them.
std::vector<std::string> OptionValues(const CLI::Option& option, const std::string& prefix) {
  if (option.check_name("-o")) return {"table", "wide", "json", "yaml", "name"};
  if (option.check_name("--format")) return {"llmc", "nanogpt", "megatron"};
  if (option.check_name("--workers")) return {"live"};
  if (option.check_name("--compare")) return GeneratorLists(prefix);
  return {};
}

// What the command's own argument is.
std::vector<std::string> ArgumentValues(const CLI::App& command, std::string* kind) {
  for (const CLI::Option* option : command.get_options()) {
    if (!option->get_positional()) continue;
    if (option->get_name() == "JOB") *kind = "jobs";
    if (option->get_name() == "WORKER") *kind = "workers";
    if (option->get_name() == "SHELL") return {"bash", "zsh", "fish"};
  }
  return {};
}

// The coordinator that the words, or else the environment, name: they are not parsed, since they need not be
// complete.
std::string CoordinatorOf(const std::vector<std::string>& words) {
  for (size_t i = 0; i + 1 < words.size(); ++i) {
    if (words[i] == "--coordinator") return words[i + 1];
  }
  const char* variable = std::getenv("SDP_COORDINATOR");
  return variable != nullptr ? variable : GlobalOptions().coordinator;
}

std::vector<std::string> NamesOf(const std::string& kind, const std::vector<std::string>& words,
                                 Session& session) {
  if (kind.empty()) return {};
  session.options.timeout = session.environment.completion_patience;
  session.options.coordinator = CoordinatorOf(words);
  Client client(session);
  std::vector<std::string> names;
  if (kind == "jobs") {
    for (const v1::Job& job : client.ListJobs(/*limit=*/100).value_or(std::vector<v1::Job>())) {
      names.push_back(job.name());
    }
  } else if (kind == "workers") {
    for (const v1::Worker& worker : client.ListWorkers().value_or(std::vector<v1::Worker>())) {
      names.push_back(worker.name());
    }
  }
  return names;
}

std::vector<std::string> StartingWith(const std::string& prefix, const std::vector<std::string>& words) {
  std::vector<std::string> matches;
  for (const std::string& word : words) {
    if (absl::StartsWith(word, prefix)) matches.push_back(word);
  }
  return matches;
}

}  // namespace

std::vector<std::string> CompletionCandidates(const CLI::App& app, const std::vector<std::string>& words,
                                              std::string* kind) {
  kind->clear();
  const std::string prefix = words.empty() ? "" : words.back();
  const size_t before = words.empty() ? 0 : words.size() - 1;
  const CommandWords found = FollowWords(app, {words.begin(), words.begin() + before});
  if (found.pending != nullptr) {
    if (found.pending->get_type_name() == "JOB") *kind = "jobs";
    return StartingWith(prefix, OptionValues(*found.pending, prefix));
  }
  std::vector<std::string> candidates;
  if (absl::StartsWith(prefix, "-")) {
    AddOptionNames(found.command, &candidates);
    return StartingWith(prefix, candidates);
  }
  candidates = SubcommandNames(*found.command);
  for (const std::string& value : ArgumentValues(*found.command, kind)) candidates.push_back(value);
  return StartingWith(prefix, candidates);
}

void PrintCompletions(const CLI::App& app, const std::vector<std::string>& words, Session& session) {
  std::string kind;
  std::vector<std::string> candidates = CompletionCandidates(app, words, &kind);
  for (const std::string& name :
       StartingWith(words.empty() ? "" : words.back(), NamesOf(kind, words, session))) {
    candidates.push_back(name);
  }
  for (const std::string& candidate : candidates) session.out() << candidate << '\n';
}

absl::StatusOr<std::string> CompletionScript(const std::string& shell) {
  if (shell == "bash") return std::string(kBash);
  if (shell == "zsh") return std::string(kZsh);
  if (shell == "fish") return std::string(kFish);
  return absl::InvalidArgumentError(
      absl::StrCat("no completion for \"", shell, "\"; must be bash, zsh or fish"));
}

void AddCompletionCommand(CLI::App& app, Session& session) {
  auto shell = std::make_shared<std::string>();
  CLI::App* completion =
      app.add_subcommand("completion", "Print a script that makes a shell complete sdpctl");
  completion->add_option("SHELL", *shell, "bash, zsh or fish")->required()->type_name("");
  completion->footer(
      "Examples:\n"
      "  source <(sdpctl completion bash)                                     # bash, zsh: this shell\n"
      "  sdpctl completion bash > /etc/bash_completion.d/sdpctl               # bash: all shells\n"
      "  sdpctl completion fish > ~/.config/fish/completions/sdpctl.fish      # fish");
  completion->callback([shell, &session] {
    session.command = [shell, &session]() -> absl::StatusOr<int> {
      SDP_ASSIGN_OR_RETURN(const std::string script, CompletionScript(*shell));
      session.out() << script;
      return kExitOk;
    };
  });
}

}  // namespace sdp::cli
