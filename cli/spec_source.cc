#include "cli/spec_source.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "cli/read_text.h"
#include "common/base/status_macros.h"
#include "common/wire/wire.h"

namespace sdp::cli {
namespace {

// Whether one field is the other, or lies in it.
bool Related(const std::string& a, const std::string& b) {
  const std::string& shorter = a.size() < b.size() ? a : b;
  const std::string& longer = a.size() < b.size() ? b : a;
  if (!absl::StartsWith(longer, shorter)) return false;
  return longer.size() == shorter.size() || longer[shorter.size()] == '.' || longer[shorter.size()] == '[';
}

// Adds the problems of `more` except those that only follow from a field that could not be read.
void AddIndependent(const std::vector<SpecProblem>& more, std::vector<SpecProblem>* problems) {
  const std::vector<SpecProblem> unread = *problems;
  for (const SpecProblem& problem : more) {
    bool follows = false;
    for (const SpecProblem& other : unread) follows = follows || Related(problem.field, other.field);
    if (!follows) problems->push_back(problem);
  }
}

// Applies "path=value".
std::vector<SpecProblem> ApplyChange(const std::string& change, v1::JobSpec* spec) {
  const size_t equals = change.find('=');
  if (equals == std::string::npos)
    return {{"--set " + change, "must be PATH=VALUE, as in masking.active_ratio=0.5"}};
  return SetSpecField(change.substr(0, equals), change.substr(equals + 1), spec);
}

}  // namespace

void AddSpecOptions(CLI::App& command, SpecSource* source) {
  command.add_option("-f,--file", source->file, "The spec, YAML or JSON; - reads standard input")
      ->required()
      ->type_name("FILE");
  command
      .add_option("--set", source->changes,
                  "Change a field of the spec, as in masking.active_ratio=0.5; may be given several times")
      ->type_name("PATH=VALUE")
      ->allow_extra_args(false);
  command.add_option("--seed", source->seed, "Short for --set seed=N")->type_name("N");
}

absl::StatusOr<v1::JobSpec> LoadSpec(const SpecSource& source, Session& session) {
  SDP_ASSIGN_OR_RETURN(const std::string text, ReadText(source.file, session.environment.in));
  v1::JobSpec spec;
  std::vector<SpecProblem> problems = ParseSpecText(text, &spec);
  const bool is_text_of_a_spec = problems.empty() || !problems[0].field.empty();
  std::vector<std::string> changes = source.changes;
  if (!source.seed.empty()) changes.push_back(absl::StrCat("seed=", source.seed));
  for (const std::string& change : changes) {
    for (SpecProblem& problem : ApplyChange(change, &spec)) problems.push_back(std::move(problem));
  }
  JobSpec checked;
  if (is_text_of_a_spec) AddIndependent(ValidateSpec(spec, &checked), &problems);
  if (!problems.empty()) return ProblemsToStatus(problems);
  return spec;
}

}  // namespace sdp::cli
