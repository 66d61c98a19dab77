#include "cli/worker_commands.h"

#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "absl/time/clock.h"
#include "cli/client.h"
#include "cli/exit_code.h"
#include "cli/format/worker_text.h"
#include "common/base/status_macros.h"

namespace sdp::cli {
namespace {

absl::StatusOr<int> List(Session& session) {
  SDP_ASSIGN_OR_RETURN(const std::vector<v1::Worker> workers, Client(session).ListWorkers());
  const OutputFormat format = session.options.output;
  if (IsStructured(format)) {
    v1::ListWorkersResponse list;
    for (const v1::Worker& worker : workers) *list.add_workers() = worker;
    session.out() << (workers.empty() ? EmptyListText("workers", format) : StructuredText(list, format));
  } else if (workers.empty()) {
    session.err() << "No workers have registered.\n";
  } else if (format == OutputFormat::kName) {
    for (const v1::Worker& worker : workers) session.out() << worker.name() << '\n';
  } else {
    session.out() << WorkerTable(workers, format == OutputFormat::kWide, absl::Now());
  }
  return kExitOk;
}

absl::StatusOr<int> Get(const std::string& argument, Session& session) {
  SDP_ASSIGN_OR_RETURN(const std::string name, WorkerArgument(argument));
  SDP_ASSIGN_OR_RETURN(const v1::Worker worker, Client(session).GetWorker(name));
  const OutputFormat format = session.options.output;
  if (IsStructured(format)) {
    session.out() << StructuredText(worker, format);
  } else if (format == OutputFormat::kName) {
    session.out() << worker.name() << '\n';
  } else {
    session.out() << DescribeWorker(worker, absl::Now());
  }
  return kExitOk;
}

}  // namespace

void AddWorkerCommands(CLI::App& app, Session& session) {
  CLI::App* workers = app.add_subcommand("worker", "Look at the workers");
  workers->require_subcommand(1);
  workers->footer("Examples:\n  sdpctl worker list -o wide\n  sdpctl worker get workers/NAME");
  CLI::App* list = workers->add_subcommand("list", "List the workers that have registered");
  list->footer("Examples:\n  sdpctl worker list\n  sdpctl worker list -o wide");
  list->callback([&session] { session.command = [&session] { return List(session); }; });

  auto argument = std::make_shared<std::string>();
  CLI::App* get = workers->add_subcommand("get", "Show one worker");
  get->add_option("WORKER", *argument, "workers/NAME, or NAME alone")->required()->type_name("");
  get->footer("Examples:\n  sdpctl worker get gpu-host-1\n  sdpctl worker get workers/gpu-host-1 -o yaml");
  get->callback(
      [argument, &session] { session.command = [=, &session] { return Get(*argument, session); }; });
}

}  // namespace sdp::cli
