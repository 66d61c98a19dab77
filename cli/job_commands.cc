#include "cli/job_commands.h"

#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "cli/client.h"
#include "cli/exit_code.h"
#include "cli/format/job_text.h"
#include "cli/spec_source.h"
#include "cli/uuid.h"
#include "cli/watch.h"
#include "common/base/status_macros.h"

namespace sdp::cli {
namespace {

struct SubmitOptions {
  SpecSource source;
  bool watch = false;
  bool wait = false;
  bool dry_run = false;
};

void PrintJob(const v1::Job& job, Session& session) {
  switch (session.options.output) {
    case OutputFormat::kName:
      session.out() << job.name() << '\n';
      break;
    case OutputFormat::kJson:
    case OutputFormat::kYaml:
      session.out() << StructuredText(job, session.options.output);
      break;
    default:
      session.out() << DescribeJob(job, session.options.output == OutputFormat::kWide, absl::Now(),
                                   session.environment.time_zone);
  }
}

void PrintJobs(const std::vector<v1::Job>& jobs, Session& session) {
  const OutputFormat format = session.options.output;
  if (IsStructured(format)) {
    v1::ListJobsResponse list;
    for (const v1::Job& job : jobs) *list.add_jobs() = job;
    session.out() << (jobs.empty() ? EmptyListText("jobs", format) : StructuredText(list, format));
  } else if (jobs.empty()) {
    session.err() << "No jobs.\n";
  } else if (format == OutputFormat::kName) {
    for (const v1::Job& job : jobs) session.out() << job.name() << '\n';
  } else {
    session.out() << JobTable(jobs, format == OutputFormat::kWide, absl::Now());
  }
}

// Follows the job, prints it as it ended.
absl::StatusOr<int> FollowAndPrint(Client& client, Session& session, const std::string& name,
                                   WatchView* view) {
  SDP_ASSIGN_OR_RETURN(const v1::Job job, FollowJob(client, session, name, session.options.timeout, view));
  PrintJob(job, session);
  return job.state() == v1::JOB_STATE_SUCCEEDED ? kExitOk : kExitFailed;
}

absl::StatusOr<int> Submit(const SubmitOptions& options, Session& session) {
  v1::CreateJobRequest request;
  SDP_ASSIGN_OR_RETURN(*request.mutable_spec(), LoadSpec(options.source, session));
  request.set_request_id(RandomUuid());
  request.set_validate_only(options.dry_run);
  Client client(session);
  SDP_ASSIGN_OR_RETURN(const v1::Job job, client.CreateJob(request));
  if (options.dry_run) {
    session.err() << "The spec is fine. Nothing was created.\n";
    if (session.options.output != OutputFormat::kName) PrintJob(job, session);
    return kExitOk;
  }
  if (options.watch || options.wait) {
    session.err() << "Created " << job.name() << ".\n" << std::flush;
    WatchView view(session.environment);
    return FollowAndPrint(client, session, job.name(), options.watch ? &view : nullptr);
  }
  if (IsStructured(session.options.output)) {
    PrintJob(job, session);
  } else {
    PrintJobs({job}, session);
  }
  session.err() << "Follow it:  " << session.CommandText("job watch " + job.name()) << '\n';
  return kExitOk;
}

absl::StatusOr<int> Follow(const std::string& argument, bool show, Session& session) {
  SDP_ASSIGN_OR_RETURN(const std::string name, JobArgument(argument));
  Client client(session);
  WatchView view(session.environment);
  return FollowAndPrint(client, session, name, show ? &view : nullptr);
}

absl::StatusOr<int> Get(const std::string& argument, Session& session) {
  SDP_ASSIGN_OR_RETURN(const std::string name, JobArgument(argument));
  SDP_ASSIGN_OR_RETURN(const v1::Job job, Client(session).GetJob(name));
  PrintJob(job, session);
  return kExitOk;
}

absl::StatusOr<int> Cancel(const std::string& argument, Session& session) {
  SDP_ASSIGN_OR_RETURN(const std::string name, JobArgument(argument));
  SDP_ASSIGN_OR_RETURN(const v1::Job job, Client(session).CancelJob(name));
  if (IsStructured(session.options.output)) {
    PrintJob(job, session);
  } else {
    PrintJobs({job}, session);
  }
  return kExitOk;
}

absl::StatusOr<int> List(int limit, Session& session) {
  SDP_ASSIGN_OR_RETURN(const std::vector<v1::Job> jobs, Client(session).ListJobs(limit));
  PrintJobs(jobs, session);
  return kExitOk;
}

void AddSubmit(CLI::App& jobs, Session& session) {
  auto options = std::make_shared<SubmitOptions>();
  CLI::App* submit = jobs.add_subcommand("submit", "Submit a job");
  AddSpecOptions(*submit, &options->source);
  CLI::Option* watch =
      submit->add_flag("--watch", options->watch, "Show events and progress until the job has ended");
  CLI::Option* wait = submit->add_flag("--wait", options->wait, "Wait silently until the job has ended");
  CLI::Option* dry_run =
      submit->add_flag("--dry-run", options->dry_run, "Let the coordinator check the spec; create nothing");
  watch->excludes(wait)->excludes(dry_run);
  wait->excludes(dry_run);
  submit->footer(
      "Prints the job (-o name: only jobs/ID). With --watch or --wait: the job as it ended; exit code 0 when "
      "it\n"
      "succeeded, 1 when it failed or was cancelled. Ctrl-C detaches; the job goes on.\n\n"
      "Examples:\n"
      "  sdpctl job submit -f llama.yaml --watch\n"
      "  sdpctl job submit -f llama.yaml --set masking.active_ratio=0.5 --set stop.steps=600 --seed 7\n"
      "  sdpctl job submit -f llama.yaml --dry-run -o yaml      # the spec with every default filled in\n"
      "  job=$(sdpctl job submit -f llama.yaml -o name) && sdpctl job wait \"$job\"");
  submit->callback(
      [options, &session] { session.command = [options, &session] { return Submit(*options, session); }; });
}

// A command whose only argument is a job.
CLI::App* AddOnJob(CLI::App& jobs, Session& session, const std::string& name, const std::string& description,
                   absl::StatusOr<int> (*run)(const std::string&, Session&)) {
  auto argument = std::make_shared<std::string>();
  CLI::App* command = jobs.add_subcommand(name, description);
  command->add_option("JOB", *argument, "jobs/ID, or ID alone")->required()->type_name("");
  command->callback([=, &session] { session.command = [=, &session] { return run(*argument, session); }; });
  return command;
}

}  // namespace

void AddJobCommands(CLI::App& app, Session& session) {
  CLI::App* jobs = app.add_subcommand("job", "Submit jobs, look at them, follow them, cancel them");
  jobs->require_subcommand(1);
  jobs->footer(
      "Examples:\n"
      "  sdpctl job submit -f llama.yaml --watch\n"
      "  sdpctl job list -o wide\n"
      "  sdpctl job get jobs/ID -o json");
  AddSubmit(*jobs, session);

  auto limit = std::make_shared<int>(0);
  CLI::App* list = jobs->add_subcommand("list", "List jobs, newest first");
  list->add_option("--limit", *limit, "No more than this many; 0: all")->check(CLI::NonNegativeNumber);
  list->footer("Examples:\n  sdpctl job list\n  sdpctl job list --limit 5 -o name");
  list->callback(
      [limit, &session] { session.command = [limit, &session] { return List(*limit, session); }; });

  AddOnJob(*jobs, session, "get", "Show one job", Get)
      ->footer(
          "Examples:\n  sdpctl job get jobs/ID -o wide      # with a row per worker\n  sdpctl job get ID -o "
          "json");
  AddOnJob(*jobs, session, "watch", "Show a job's events and progress until it has ended",
           [](const std::string& job, Session& s) { return Follow(job, true, s); })
      ->footer(
          "Events and progress go to the error stream, the job as it ended to the output. Exit code 0 when "
          "it\n"
          "succeeded, 1 when it failed or was cancelled, 124 after --timeout. Ctrl-C detaches; the job goes "
          "on.\n\n"
          "Examples:\n  sdpctl job watch jobs/ID\n  sdpctl job watch jobs/ID -o json 2>/dev/null");
  AddOnJob(*jobs, session, "wait", "Wait silently until a job has ended",
           [](const std::string& job, Session& s) { return Follow(job, false, s); })
      ->footer(
          "The exit codes are those of `job watch`.\n\nExamples:\n  sdpctl job wait jobs/ID --timeout 10m");
  AddOnJob(*jobs, session, "cancel", "Cancel a job", Cancel)
      ->footer("Examples:\n  sdpctl job cancel jobs/ID");
}

}  // namespace sdp::cli
