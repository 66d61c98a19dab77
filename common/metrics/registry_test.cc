#include "common/metrics/registry.h"

#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace sdp {
namespace {

// One series of every metric in the table, with a value for each label.
void SetEverything(Series& series) {
  for (const Metric* metric : metrics::kTable) {
    const std::vector<std::string> values(metric->labels.size(), "value");
    switch (metric->type) {
      case MetricType::kCounter:
        series.Get(static_cast<const CounterMetric&>(*metric), values).Add(1);
        break;
      case MetricType::kGauge:
        series.Get(static_cast<const GaugeMetric&>(*metric), values).Set(0.5);
        break;
      case MetricType::kHistogram:
        series.Get(static_cast<const HistogramMetric&>(*metric), values).Observe(0.02);
        break;
    }
  }
}

TEST(RegistryTest, PromtoolAcceptsEveryMetric) {
  Registry registry;
  Series series(registry);
  SetEverything(series);
  const std::string text = registry.Text();
  for (const Metric* metric : metrics::kTable) {
    EXPECT_TRUE(absl::StrContains(text, absl::StrCat("# HELP ", metric->name, " "))) << metric->name;
  }

  const std::string path = absl::StrCat(testing::TempDir(), "/metrics.txt");
  const std::string output_path = absl::StrCat(testing::TempDir(), "/promtool.txt");
  std::ofstream(path) << text;
  const std::string command =
      absl::StrCat("promtool check metrics < '", path, "' > '", output_path, "' 2>&1");
  const int status = std::system(command.c_str());
  std::string output;
  std::getline(std::ifstream(output_path), output, '\0');
  EXPECT_EQ(WEXITSTATUS(status), 0) << output;
  EXPECT_EQ(output, "");  // what it only remarks on
}

TEST(RegistryTest, HandlesSetTheirSeries) {
  Registry registry;
  Series series(registry, {"job-1"});
  series.Get(metrics::kWorkerSentBytes, {"all_reduce"}).Add(100);
  series.Get(metrics::kWorkerSentBytes, {"all_reduce"}).Add(28);
  series.Get(metrics::kWorkerSentBytes, {"broadcast"}).Add(5);
  series.Get(metrics::kWorkerLoss).Set(2.5);
  const Histogram forward = series.Get(metrics::kWorkerStepPhaseSeconds, {"forward"});
  forward.Observe(0.02);
  forward.Observe(0.02);

  EXPECT_EQ(series.Get(metrics::kWorkerSentBytes, {"all_reduce"}).value(), 128);
  EXPECT_EQ(series.Get(metrics::kWorkerLoss).value(), 2.5);
  const std::string text = registry.Text();
  for (const std::string line :
       {"sdp_worker_sent_bytes_total{collective=\"all_reduce\",job_id=\"job-1\"} 128\n",
        "sdp_worker_sent_bytes_total{collective=\"broadcast\",job_id=\"job-1\"} 5\n",
        "sdp_worker_loss{job_id=\"job-1\"} 2.5\n",
        "sdp_worker_step_phase_seconds_count{job_id=\"job-1\",phase=\"forward\"} 2\n",
        "sdp_worker_step_phase_seconds_bucket{job_id=\"job-1\",phase=\"forward\",le=\"0.01\"} 0\n",
        "sdp_worker_step_phase_seconds_bucket{job_id=\"job-1\",phase=\"forward\",le=\"0.025\"} 2\n"}) {
    EXPECT_TRUE(absl::StrContains(text, line)) << line << "is not in\n" << text;
  }
}

TEST(RegistryTest, SeriesGoWithTheirScope) {
  Registry registry;
  Series process(registry);
  process.Get(metrics::kJobs, {"running"}).Set(1);
  {
    Series first(registry, {"job-1"});
    Series second(registry, {"job-2"});
    first.Get(metrics::kWorkerLoss).Set(1);
    first.Get(metrics::kWorkerSteps).Add(1);
    first.Get(metrics::kWorkerStepPhaseSeconds, {"data"}).Observe(1);
    second.Get(metrics::kWorkerLoss).Set(2);
    EXPECT_TRUE(absl::StrContains(registry.Text(), "job-1"));
    EXPECT_TRUE(absl::StrContains(registry.Text(), "job-2"));
  }
  const std::string text = registry.Text();
  EXPECT_FALSE(absl::StrContains(text, "job_id")) << text;
  EXPECT_TRUE(absl::StrContains(text, "sdp_jobs{state=\"running\"} 1\n")) << text;
}

TEST(RegistryTest, SharedSeriesGoWithTheLastScope) {
  Registry registry;
  auto old_epoch = std::make_unique<Series>(registry, std::vector<std::string>{"job-1"});
  old_epoch->Get(metrics::kWorkerSteps).Add(3);
  old_epoch->Get(metrics::kWorkerSteps).Add(1);
  auto new_epoch = std::make_unique<Series>(registry, std::vector<std::string>{"job-1"});
  const Counter steps = new_epoch->Get(metrics::kWorkerSteps);
  old_epoch.reset();
  steps.Add(1);
  EXPECT_EQ(steps.value(), 5);
  EXPECT_TRUE(absl::StrContains(registry.Text(), "sdp_worker_steps_total{job_id=\"job-1\"} 5\n"));
  new_epoch.reset();
  EXPECT_FALSE(absl::StrContains(registry.Text(), "job_id"));
}

TEST(RegistryTest, ASeriesThatReturnsBeginsAtZero) {
  Registry registry;
  for (int i = 0; i < 2; ++i) {
    Series series(registry, {"job-1"});
    const Counter steps = series.Get(metrics::kWorkerSteps);
    EXPECT_EQ(steps.value(), 0);
    steps.Add(7);
  }
}

TEST(RegistryTest, ProcessMetricsAreFreshAtEachScrape) {
  const Registry registry;
  const std::string text = registry.Text();
  for (const std::string name :
       {"sdp_process_resident_bytes ", "sdp_process_threads ", "sdp_process_open_file_descriptors "}) {
    const size_t at = text.find(absl::StrCat("\n", name));
    ASSERT_NE(at, std::string::npos) << name;
    EXPECT_GT(std::atof(text.c_str() + at + 1 + name.size()), 0) << name;
  }
}

TEST(RegistryTest, ThreadsMayShareEverything) {
  Registry registry;
  Series process(registry);
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int j = 0; j < 50; ++j) {
        Series job(registry, {"job-1"});
        job.Get(metrics::kWorkerSteps).Add(1);
        process.Get(metrics::kRpcSeconds, {"GetJob", "OK"}).Observe(0.001);
        EXPECT_FALSE(registry.Text().empty());
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  const std::string text = registry.Text();
  EXPECT_TRUE(absl::StrContains(text, "sdp_rpc_duration_seconds_count{code=\"OK\",method=\"GetJob\"} 200\n"))
      << text;
  EXPECT_FALSE(absl::StrContains(text, "job_id"));
}

using RegistryDeathTest = testing::Test;

TEST(RegistryDeathTest, MisuseEndsTheProcess) {
  Registry registry;
  Series series(registry, {"job-1"});
  static constexpr GaugeMetric kOutsider("sdp_outsider", {}, "Not in the table.");
  EXPECT_DEATH(series.Get(kOutsider), "sdp_outsider");
  EXPECT_DEATH(series.Get(metrics::kWorkerLoss, {"one too many"}), "sdp_worker_loss");
}

}  // namespace
}  // namespace sdp
