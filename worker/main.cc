// The worker daemon: dials the coordinator, and runs one job after another.

#include <signal.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdlib>
#include <iostream>
#include <string>
#include <thread>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "common/base/quantities.h"
#include "common/base/version.h"
#include "common/model/plan.h"
#include "common/wire/wire.h"
#include "worker/agent/agent.h"
#include "worker/training/device.h"

namespace {

struct Flags {
  std::string coordinator = "127.0.0.1:7070";
  std::string name;
  std::string bind_address = "127.0.0.1";
  std::string advertised_address;
  std::string metrics_listen;
  std::string log_level = "info";
  int threads = 0;
  std::string memory;
  double relative_speed = 1.0;
};

std::string HostName() {
  char name[256] = {};
  return gethostname(name, sizeof(name) - 1) == 0 ? name : "worker";
}

void AddFlags(CLI::App& app, Flags& flags) {
  app.add_option("--coordinator", flags.coordinator, "HOST:PORT of the coordinator")
      ->envname("SDP_COORDINATOR")
      ->capture_default_str();
  app.add_option("--name", flags.name, "Stable name, unique in the cluster; default: the host's name")
      ->envname("SDP_WORKER_NAME");
  app.add_option("--bind", flags.bind_address, "Local address that peers' connections are accepted on")
      ->envname("SDP_BIND")
      ->capture_default_str();
  app.add_option("--advertise", flags.advertised_address,
                 "Address that peers are told to connect to; default: the --bind address")
      ->envname("SDP_ADVERTISE");
  app.add_option("--threads", flags.threads, "Threads for computing; 0: all cores")
      ->check(CLI::NonNegativeNumber);
  app.add_option("--memory", flags.memory,
                 "Memory that this worker may use for tensors, as in 24GiB; what it holds is planned to fit. "
                 "Default: "
                 "the machine's memory, which several workers on one machine should share out")
      ->envname("SDP_WORKER_MEMORY");
  app.add_option(
         "--relative-speed", flags.relative_speed,
         "Speed relative to the other workers: 2 runs the same work in half the time, and gets about twice "
         "as many samples")
      ->envname("SDP_WORKER_RELATIVE_SPEED")
      ->check(CLI::Range(sdp::kMinRelativeSpeed, sdp::kMaxRelativeSpeed))
      ->capture_default_str();
  app.add_option("--metrics-listen", flags.metrics_listen,
                 "HOST:PORT to serve Prometheus metrics on, as in 127.0.0.1:9102; default: none");
  app.add_option("--log-level", flags.log_level, "trace, debug, info, warn or error")->capture_default_str();
  app.footer(
      "The worker runs until SIGTERM or SIGINT. It keeps trying to reach the coordinator.\n\n"
      "Several hosts:\n"
      "  worker --coordinator coordinator.example:7070 --bind 0.0.0.0 --advertise $(hostname -f)\n"
      "Several workers on one host, sharing its cores:\n"
      "  worker --name a --threads 1 --memory 8GiB &\n"
      "  worker --name b --threads 1 --memory 8GiB &");
  app.set_version_flag("--version", std::string(sdp::kVersion));
}

// Wildcards can be bound to but not connected to.
bool IsWildcard(const std::string& address) {
  return address == "0.0.0.0" || address == "::" || address == "[::]";
}

// Bytes of memory that the worker may use for tensors.
absl::StatusOr<int64_t> MemoryOf(const Flags& flags) {
  if (!flags.memory.empty()) return sdp::ParseBytes(flags.memory);
  return static_cast<int64_t>(sysconf(_SC_PHYS_PAGES)) * sysconf(_SC_PAGESIZE);
}

// What is wrong with the flags; empty when nothing is.
std::string FlagsProblem(const Flags& flags) {
  if (std::string problem = sdp::NameProblem(flags.name); !problem.empty()) {
    return absl::StrCat("--name '", flags.name, "': ", problem);
  }
  if (IsWildcard(flags.advertised_address)) {
    return absl::StrCat("--bind ", flags.bind_address,
                        " is no address that peers could connect to; name one with --advertise");
  }
  if (const auto memory = MemoryOf(flags); !memory.ok()) {
    return absl::StrCat("--memory ", memory.status().message());
  }
  return "";
}

// Turns the first SIGTERM or SIGINT into an orderly shutdown; a second one ends the process at once.
void HandleSignals(sdp::Agent* agent, sigset_t signals) {
  std::thread([agent, signals] {
    int signal = 0;
    sigwait(&signals, &signal);
    agent->RequestShutdown(signal == SIGTERM ? "SIGTERM" : "SIGINT");
    sigwait(&signals, &signal);
    _exit(130);
  }).detach();
}

int Run(const Flags& flags) {
  // Blocked before any thread exists, so that only the thread in HandleSignals gets them.
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  signal(SIGPIPE, SIG_IGN);

  sdp::AgentOptions options;
  options.coordinator = flags.coordinator;
  options.name = sdp::WorkerName(flags.name);
  options.incarnation = sdp::Incarnation(static_cast<uint64_t>(absl::ToUnixMicros(absl::Now())));
  options.software_version = sdp::kVersion;
  options.bind_address = flags.bind_address;
  options.advertised_address = flags.advertised_address;
  options.threads = flags.threads > 0 ? flags.threads : static_cast<int>(std::thread::hardware_concurrency());
  options.memory_bytes = MemoryOf(flags).value();  // checked with the other flags
  options.relative_speed = flags.relative_speed;
  sdp::SetUpDevice(options.threads);

  std::unique_ptr<sdp::WorkerMetrics> metrics;
  if (!flags.metrics_listen.empty()) {
    auto made = sdp::WorkerMetrics::Serve(flags.metrics_listen, flags.name);
    if (!made.ok()) {
      spdlog::error("--metrics-listen: {}", made.status().ToString());
      return 1;
    }
    metrics = *std::move(made);
    const std::string host = flags.metrics_listen.substr(0, flags.metrics_listen.rfind(':'));
    spdlog::info("metrics at http://{}:{}/metrics", host, metrics->port());
  }
  spdlog::info("worker {} {}: coordinator {}, data plane {} (bound to {}), {} threads", flags.name,
               sdp::kVersion, flags.coordinator, flags.advertised_address, flags.bind_address,
               options.threads);
  sdp::Agent agent(options, metrics.get());
  HandleSignals(&agent, signals);
  const absl::Status status = agent.Run();
  if (!status.ok()) spdlog::error("{}", status.ToString());
  // The signal thread refers to the agent to the end, so no destructors run behind its back.
  spdlog::shutdown();
  _exit(status.ok() ? 0 : 1);
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("sdp worker: trains its subnetwork of each job and averages with the other holders.",
               "worker");
  Flags flags;
  flags.name = HostName();
  AddFlags(app, flags);
  CLI11_PARSE(app, argc, argv);
  if (flags.advertised_address.empty()) flags.advertised_address = flags.bind_address;
  if (std::string problem = FlagsProblem(flags); !problem.empty()) {
    std::cerr << "worker: " << problem << "\n";
    return 2;
  }
  spdlog::set_level(spdlog::level::from_str(flags.log_level));
  return Run(flags);
}
