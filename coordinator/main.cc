// The coordinator: queues jobs, plans them, assigns them to workers and follows them. Carries no tensor.
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>

#include "CLI/CLI.hpp"
#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "common/base/atomic_file_writer.h"
#include "common/base/clock.h"
#include "common/base/status_macros.h"
#include "common/base/version.h"
#include "common/metrics/exposer.h"
#include "common/metrics/registry.h"
#include "common/model/parameter_table.h"
#include "coordinator/planning/make_plan.h"
#include "coordinator/service/coordinator_server.h"
#include "coordinator/store/memory_job_store.h"
#include "nlohmann/json.hpp"
#include "spdlog/sinks/stdout_color_sinks.h"
#include "spdlog/spdlog.h"

namespace sdp::coordinator {
namespace {

struct Flags {
  std::string listen = "127.0.0.1:7070";
  std::string metrics_listen = "127.0.0.1:7071";
  std::string port_file;
  std::string log_level = "info";
  double heartbeat = 1;
  double lost_after = 5;
  double progress_timeout = 30;
  double prepare_timeout = 120;
  double collective_timeout = 60;
};

// Problem with an address to listen at; empty when it is HOST:PORT.
std::string ListenProblem(const std::string& address) {
  const size_t colon = address.rfind(':');
  uint32_t port = 0;
  const bool fine = colon != std::string::npos && colon > 0 &&
                    absl::SimpleAtoi(address.substr(colon + 1), &port) && port <= 65535;
  return fine ? "" : absl::StrCat("'", address, "' is not HOST:PORT");
}

void AddFlags(CLI::App& app, Flags& flags) {
  const CLI::Range seconds(0.001, 1e6);
  app.add_option("--listen", flags.listen, "HOST:PORT for workers and clients; port 0 takes a free one")
      ->check(ListenProblem)
      ->capture_default_str();
  app.add_option("--metrics-listen", flags.metrics_listen,
                 "IP:PORT that Prometheus reads /metrics from; port 0 takes a free one, \"\" is off")
      ->capture_default_str();
  app.add_option(
      "--port-file", flags.port_file,
      "File to write the ports to, as JSON, once both listen: {\"grpc_port\":N,\"metrics_port\":N}");
  app.add_option("--log-level", flags.log_level, "Least level that is logged")
      ->check(CLI::IsMember({"debug", "info", "warn", "error", "off"}))
      ->capture_default_str();
  app.add_option("--heartbeat", flags.heartbeat, "Seconds between a worker's heartbeats")
      ->check(seconds)
      ->capture_default_str();
  app.add_option("--lost-after", flags.lost_after, "Seconds without a heartbeat after which a worker is lost")
      ->check(seconds)
      ->capture_default_str();
  app.add_option("--progress-timeout", flags.progress_timeout,
                 "Seconds without a step after which a job fails; at least 20 steps' time")
      ->check(seconds)
      ->capture_default_str();
  app.add_option("--prepare-timeout", flags.prepare_timeout, "Seconds that a job's workers have to get ready")
      ->check(seconds)
      ->capture_default_str();
  app.add_option("--collective-timeout", flags.collective_timeout, "Seconds that one collective may take")
      ->check(seconds)
      ->capture_default_str();
  app.set_version_flag("--version", kVersion);
}

Timing TimingOf(const Flags& flags) {
  Timing timing;
  timing.heartbeat = absl::Seconds(flags.heartbeat);
  timing.lost_after = absl::Seconds(flags.lost_after);
  timing.progress_timeout = absl::Seconds(flags.progress_timeout);
  timing.prepare_timeout = absl::Seconds(flags.prepare_timeout);
  timing.collective_timeout = absl::Seconds(flags.collective_timeout);
  return timing;
}

// Whoever waits for the file finds it complete.
absl::Status WritePortFile(const std::string& path, int grpc_port, int metrics_port) {
  SDP_ASSIGN_OR_RETURN(const std::unique_ptr<AtomicFileWriter> writer, AtomicFileWriter::Create(path));
  const nlohmann::json ports = {{"grpc_port", grpc_port}, {"metrics_port", metrics_port}};
  SDP_RETURN_IF_ERROR(writer->Append(ports.dump() + "\n"));
  return writer->Commit();
}

absl::Status Serve(const Flags& flags, const sigset_t& signals) {
  const Clock clock;
  MemoryJobStore store;
  Registry registry;
  Series process(registry, {});
  process.Get(metrics::kBuildInfo, {"coordinator", kVersion}).Set(1);

  absl::Status failure;  // set before the signal that ends the wait below
  ServerOptions options;
  options.listen = flags.listen;
  options.timing = TimingOf(flags);
  options.planner = [](const JobSpec& spec, std::vector<PlanMember> members, Epoch epoch,
                       int64_t first_step) {
    return MakePlan(spec, MakeParameterTable(spec.model), std::move(members), epoch, first_step);
  };
  options.incarnation = static_cast<uint64_t>(absl::ToUnixMicros(clock.Now()));
  options.clock = &clock;
  options.store = &store;
  options.registry = &registry;
  options.on_store_failed = [&failure](const absl::Status& status) {
    failure = status;
    kill(getpid(), SIGTERM);
  };
  SDP_ASSIGN_OR_RETURN(const std::unique_ptr<CoordinatorServer> server,
                       CoordinatorServer::Start(std::move(options)));
  std::unique_ptr<MetricsServer> metrics_server;
  if (!flags.metrics_listen.empty()) {
    SDP_ASSIGN_OR_RETURN(metrics_server, StartExposer(flags.metrics_listen, registry));
  }
  const int metrics_port = metrics_server == nullptr ? 0 : metrics_server->port();
  spdlog::info("sdp coordinator {}: listens at {} (port {}), metrics at {} (port {})", kVersion, flags.listen,
               server->port(), flags.metrics_listen.empty() ? "no address" : flags.metrics_listen,
               metrics_port);
  if (!flags.port_file.empty()) {
    SDP_RETURN_IF_ERROR(WritePortFile(flags.port_file, server->port(), metrics_port));
  }
  int signal = 0;
  sigwait(&signals, &signal);
  spdlog::info("shutting down after signal {}", signal);
  server->Shutdown();
  // The HTTP library takes two seconds to stop, and Main ends the process without it.
  (void)metrics_server.release();
  return failure;
}

int Main(int argc, char** argv) {
  CLI::App app("The coordinator of sdp: queues, plans and follows training jobs.");
  Flags flags;
  AddFlags(app, flags);
  CLI11_PARSE(app, argc, argv);
  if (flags.lost_after <= flags.heartbeat) {
    std::fprintf(stderr, "coordinator: --lost-after (%g) must be longer than --heartbeat (%g)\n",
                 flags.lost_after, flags.heartbeat);
    return 2;
  }
  spdlog::set_default_logger(spdlog::stderr_color_mt("coordinator"));
  spdlog::set_level(spdlog::level::from_str(flags.log_level));

  // Blocked here so that every thread started later inherits it, and only sigwait sees them.
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGINT);
  sigaddset(&signals, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);

  // gRPC writes its own errors to stderr; ours say the same in one line. Overridden by the environment.
  setenv("GRPC_VERBOSITY", "NONE", /*overwrite=*/0);

  const absl::Status status = Serve(flags, signals);
  if (!status.ok()) std::fprintf(stderr, "coordinator: %s\n", std::string(status.message()).c_str());
  spdlog::shutdown();
  std::_Exit(status.ok() ? 0 : 1);  // see Serve
}

}  // namespace
}  // namespace sdp::coordinator

int main(int argc, char** argv) { return sdp::coordinator::Main(argc, argv); }
