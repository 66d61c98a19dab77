// What a Prometheus server would scrape from a running cluster.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <regex>

#include "absl/strings/str_cat.h"
#include "common/metrics/names.h"
#include "tests/cluster.h"

namespace sdp::testing {
namespace {

using ::testing::HasSubstr;

std::string Scrape(const std::string& address) {
  const Result result = RunCommand({"/usr/bin/python3", "-c",
                                    "import sys, urllib.request; "
                                    "sys.stdout.write(urllib.request.urlopen(sys.argv[1]).read().decode())",
                                    absl::StrCat("http://", address, "/metrics")});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  return result.out;
}

// HOST:PORT of the worker's metrics, which its log names.
std::string MetricsAddress(const Process& worker) {
  std::smatch match;
  std::string log;
  Eventually(kPatience, [&] {
    log = worker.Log();
    return std::regex_search(log, match, std::regex("http://([0-9.]+:[0-9]+)/metrics"));
  });
  EXPECT_FALSE(match.empty()) << log;
  return match[1];
}

// The value of the first series that begins with `prefix`; NaN when there is none.
double ValueOf(const std::string& text, const std::string& prefix) {
  const size_t line = text.find("\n" + prefix);
  if (line == std::string::npos) return std::nan("");
  const std::string rest = text.substr(line + 1, text.find('\n', line + 1) - line - 1);
  return std::stod(rest.substr(rest.rfind(' ') + 1));
}

TEST(Metrics, AreThereDuringAJobAndGoWithIt) {
  Cluster cluster;
  WriteShards(cluster.directory());
  for (const char* name : {"w0", "w1"}) cluster.StartWorker(name, {"--metrics-listen", "127.0.0.1:0"});
  const std::string coordinator = cluster.metrics_address();
  const std::string worker = MetricsAddress(cluster.worker("w0"));
  TinySpec spec;
  spec.data_directory = cluster.directory();
  spec.output_directory = cluster.directory() + "/model";
  spec.steps = 1000000;
  const std::string job = cluster.Submit(spec.Yaml());
  cluster.WaitForStep(job, 5);

  EXPECT_TRUE(Eventually(kPatience, [&] {
    return ValueOf(Scrape(coordinator), "sdp_job_steps_total{") >= 5;
  })) << Scrape(coordinator);
  EXPECT_TRUE(Eventually(kPatience, [&] { return ValueOf(Scrape(worker), "sdp_worker_steps_total{") >= 5; }))
      << Scrape(worker);
  const std::string of_coordinator = Scrape(coordinator);
  const std::string of_worker = Scrape(worker);
  EXPECT_GT(ValueOf(of_coordinator, "sdp_job_loss{"), 0);
  EXPECT_GT(ValueOf(of_coordinator, "sdp_job_masking_error_ratio{"), 0);
  EXPECT_EQ(ValueOf(of_coordinator, "sdp_workers{state=\"busy\"}"), 2) << of_coordinator;
  EXPECT_GT(ValueOf(of_worker, "sdp_worker_tensor_peak_bytes{"), 0);
  EXPECT_THAT(of_worker, HasSubstr("phase=\"backward\""));
  EXPECT_THAT(of_worker, HasSubstr("collective=\"all_reduce\""));

  // Everything in the table but the RPC histogram's labels and what needs a validation has a series now.
  for (const Metric* metric : metrics::kTable) {
    const std::string name = metric->name;
    if (name.find("validation") != std::string::npos || name.find("subnetwork") != std::string::npos)
      continue;
    EXPECT_TRUE(of_coordinator.find("\n" + name) != std::string::npos ||
                of_worker.find("\n" + name) != std::string::npos)
        << name << " has no series";
  }

  EXPECT_EQ(cluster.Sdpctl({"job", "cancel", job}).exit_code, 0);
  cluster.WaitForState(job, v1::JOB_STATE_CANCELLED);
  EXPECT_TRUE(Eventually(kPatience, [&] {
    return Scrape(coordinator).find("sdp_job_loss{") == std::string::npos;
  })) << Scrape(coordinator);
  EXPECT_TRUE(Eventually(kPatience, [&] {
    return Scrape(worker).find("sdp_worker_loss{") == std::string::npos;
  })) << Scrape(worker);
}

}  // namespace
}  // namespace sdp::testing
