#include "cli/sdpctl.h"

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <map>
#include <ostream>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "cli/command_words.h"
#include "cli/completion.h"
#include "cli/data_commands.h"
#include "cli/exit_code.h"
#include "cli/job_commands.h"
#include "cli/plan_command.h"
#include "cli/worker_commands.h"
#include "common/base/version.h"
#include "common/wire/wire.h"

namespace sdp::cli {
namespace {

// "90", "90s", "5m", "1h30m". False: none of these, or not above 0.
bool ParseTimeout(const std::string& text, absl::Duration* timeout) {
  double seconds;
  if (absl::SimpleAtod(text, &seconds)) {
    *timeout = absl::Seconds(seconds);
  } else if (!absl::ParseDuration(text, timeout)) {
    return false;
  }
  return *timeout > absl::ZeroDuration() && *timeout < absl::InfiniteDuration();
}

void AddGlobalOptions(CLI::App& app, GlobalOptions* options) {
  app.add_option("--coordinator", options->coordinator, "The coordinator's address")
      ->envname("SDP_COORDINATOR")
      ->type_name("HOST:PORT")
      ->capture_default_str();
  const std::map<std::string, OutputFormat> formats = {{"table", OutputFormat::kTable},
                                                       {"wide", OutputFormat::kWide},
                                                       {"json", OutputFormat::kJson},
                                                       {"yaml", OutputFormat::kYaml},
                                                       {"name", OutputFormat::kName}};
  app.add_option_function<std::string>(
         "-o,--output",
         [options, formats](const std::string& name) {
           const auto format = formats.find(name);
           if (format == formats.end()) {
             throw CLI::ValidationError(
                 "-o", absl::StrCat("no format \"", name, "\"; must be table, wide, json, yaml or name"));
           }
           options->output = format->second;
         },
         "What is printed: table (default), wide, json, yaml or name")
      ->type_name("FORMAT");
  app.add_option_function<std::string>(
         "--timeout",
         [options](const std::string& text) {
           if (!ParseTimeout(text, &options->timeout)) {
             throw CLI::ValidationError(
                 "--timeout", absl::StrCat("\"", text, "\" is no time; must be as in 30s, 5m or 1h"));
           }
         },
         "How long to wait for an answer (default 10s); with --watch, --wait, `job watch` and `job wait`: "
         "for the end "
         "of the job (default: forever)")
      ->type_name("TIME");
}

absl::StatusOr<int> PrintVersion(Session& session) {
  switch (session.options.output) {
    case OutputFormat::kJson:
      session.out() << "{\"version\": \"" << kVersion << "\", \"protocol_version\": " << kProtocolVersion
                    << "}\n";
      break;
    case OutputFormat::kYaml:
      session.out() << "version: " << kVersion << "\nprotocol_version: " << kProtocolVersion << '\n';
      break;
    case OutputFormat::kName:
      session.out() << kVersion << '\n';
      break;
    default:
      session.out() << "sdpctl " << kVersion << " (worker protocol " << kProtocolVersion << ")\n";
  }
  return kExitOk;
}

// The help of each command says that the options of the whole program work there too.
void MentionGlobalOptions(CLI::App& app) {
  for (CLI::App* command : app.get_subcommands({})) {
    command->footer(
        absl::StrCat(command->get_footer(), command->get_footer().empty() ? "" : "\n\n",
                     "--coordinator, -o and --timeout work here too; sdpctl --help explains them."));
    MentionGlobalOptions(*command);
  }
}

void AddCommands(CLI::App& app, Session& session) {
  app.require_subcommand(1);
  app.fallthrough();                      // the global options may stand anywhere
  app.get_formatter()->column_width(34);  // of option names in the help
  app.footer(
      "Exit codes: 0 ok; 1 job failed, or command not carried out; 2 wrong arguments or spec; 3 coordinator\n"
      "unreachable; 4 not found; 5 denied; 124 timeout; 130 interrupted.\n\n"
      "Examples:\n"
      "  sdpctl data prepare --input book.txt --output-dir /data/book\n"
      "  sdpctl plan -f llama.yaml\n"
      "  sdpctl job submit -f llama.yaml --watch\n"
      "  sdpctl worker list --coordinator coordinator.example:7070\n\n"
      "`sdpctl COMMAND --help` says more.");
  AddGlobalOptions(app, &session.options);
  AddJobCommands(app, session);
  AddPlanCommand(app, session);
  AddWorkerCommands(app, session);
  AddDataCommands(app, session);
  AddCompletionCommand(app, session);
  CLI::App* version = app.add_subcommand("version", "Print the version");
  version->callback([&session] { session.command = [&session] { return PrintVersion(session); }; });
  MentionGlobalOptions(app);
}

void PrintError(const absl::Status& status, Session& session) {
  const std::vector<SpecProblem> problems = ProblemsFromStatus(status);
  if (problems.empty()) {
    session.err() << "sdpctl: " << status.message() << '\n';
    return;
  }
  session.err() << "sdpctl: the spec has " << problems.size()
                << (problems.size() == 1 ? " problem" : " problems") << ":\n";
  for (const SpecProblem& problem : problems) session.err() << "  " << ProblemText(problem) << '\n';
}

// Parses the arguments into session.command. Returns an exit code when there is nothing to run.
int Parse(CLI::App& app, const std::vector<std::string>& arguments, Session& session) {
  try {
    app.parse(std::vector<std::string>(arguments.rbegin(), arguments.rend()));  // CLI11 wants them reversed
    return kExitOk;
  } catch (const CLI::Success& help) {
    return app.exit(help, session.out(), session.err());
  } catch (const CLI::ParseError& error) {
    const std::string problem = CommandProblem(app, arguments);
    session.err() << "sdpctl: " << (problem.empty() ? error.what() : problem)
                  << "\nsdpctl --help, or --help after a command, says what is possible.\n";
    return kExitUsage;
  }
}

}  // namespace

int RunSdpctl(const std::vector<std::string>& arguments, Environment& environment) {
  Session session{environment, {}, nullptr};
  CLI::App app("sdpctl: submits jobs to an sdp coordinator and follows them", "sdpctl");
  AddCommands(app, session);
  if (!arguments.empty() && arguments[0] == "__complete") {
    PrintCompletions(app, {arguments.begin() + 1, arguments.end()}, session);
    return kExitOk;
  }
  const int parsed = Parse(app, arguments, session);
  if (!session.command || parsed != kExitOk) return parsed;
  const absl::StatusOr<int> code = session.command();
  if (code.ok()) return *code;
  PrintError(code.status(), session);
  return ExitCodeOf(code.status());
}

}  // namespace sdp::cli
