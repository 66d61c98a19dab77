#include "common/metrics/names.h"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace sdp {
namespace {

// What is wrong with a metric by the rules of names.h; empty when nothing is.
std::vector<std::string> Problems(const Metric& metric) {
  std::vector<std::string> problems;
  const auto require = [&](bool holds, const std::string& rule) {
    if (!holds) problems.push_back(absl::StrCat(metric.name, ": ", rule));
  };
  const std::string name = metric.name;
  require(absl::StartsWith(name, "sdp_"), "the prefix is sdp_");
  for (const char c : name) require(absl::ascii_islower(c) || c == '_', "lower case and underscores only");
  require(!absl::StrContains(name, "__"), "no double underscore");

  const bool counter = metric.type == MetricType::kCounter;
  require(absl::EndsWith(name, "_total") == counter, "_total on counters and on nothing else");
  const std::string stem = counter ? name.substr(0, name.size() - 6) : name;
  const std::vector<std::string> words = absl::StrSplit(stem, '_');
  for (const std::string unit : {"seconds", "bytes", "ratio", "info"}) {
    for (size_t i = 0; i + 1 < words.size(); ++i) require(words[i] != unit, "the unit comes last");
  }
  for (const std::string& word : words) {
    static const std::set<std::string> kWrongUnits = {
        "ms", "milliseconds", "micros", "nanoseconds", "minutes", "percent", "kilobytes", "mb", "gb", "mib"};
    require(kWrongUnits.count(word) == 0, "base units only");
  }
  require(metric.type != MetricType::kHistogram || words.back() == "seconds", "histograms measure seconds");

  require(std::string(metric.help).size() > 5 && absl::EndsWith(metric.help, "."), "help is a sentence");
  static const std::set<std::string> kBoundedLabels = {
      "job_id", "phase", "collective", "holders", "worker", "state", "method", "code", "role", "version"};
  for (const char* label : metric.labels) {
    require(kBoundedLabels.count(label) == 1, absl::StrCat("label ", label, " is not known to be bounded"));
  }
  require((metric.type == MetricType::kHistogram) == !metric.buckets.empty(), "buckets on histograms only");
  for (size_t i = 1; i < metric.buckets.size(); ++i) {
    require(metric.buckets[i - 1] < metric.buckets[i], "buckets ascend");
  }
  return problems;
}

TEST(NamesTest, EveryMetricFollowsTheRules) {
  for (const Metric* metric : metrics::kTable) {
    EXPECT_EQ(Problems(*metric), std::vector<std::string>{});
  }
}

TEST(NamesTest, NamesAreUnique) {
  std::set<std::string> names;
  for (const Metric* metric : metrics::kTable) {
    EXPECT_TRUE(names.insert(metric->name).second) << metric->name;
  }
}

TEST(NamesTest, SeriesOfJobsBeginWithTheJob) {
  for (const Metric* metric : metrics::kTable) {
    const bool has_job = !metric->labels.empty() && std::string(metric->labels[0]) == "job_id";
    const bool of_job =
        absl::StartsWith(metric->name, "sdp_job_") || absl::StartsWith(metric->name, "sdp_worker_");
    EXPECT_EQ(has_job, of_job && metric != &metrics::kWorkerInfo) << metric->name;
  }
}

TEST(NamesTest, TheRulesRefuseWrongNames) {
  static constexpr const char* kUnbounded[] = {"path"};
  static constexpr double kDescending[] = {2, 1};
  EXPECT_FALSE(Problems(CounterMetric("sdp_steps", {}, "Steps so far.")).empty());
  EXPECT_FALSE(Problems(GaugeMetric("sdp_steps_total", {}, "Steps so far.")).empty());
  EXPECT_FALSE(Problems(GaugeMetric("loss", {}, "The loss now.")).empty());
  EXPECT_FALSE(Problems(GaugeMetric("sdp_bytes_sent", {}, "Bytes so far.")).empty());
  EXPECT_FALSE(Problems(GaugeMetric("sdp_wait_ms", {}, "Time waited.")).empty());
  EXPECT_FALSE(Problems(GaugeMetric("sdp_loss", {}, "")).empty());
  EXPECT_FALSE(Problems(GaugeMetric("sdp_loss", kUnbounded, "The loss now.")).empty());
  EXPECT_FALSE(Problems(HistogramMetric("sdp_wait_seconds", {}, kDescending, "Time waited.")).empty());
  EXPECT_FALSE(Problems(HistogramMetric("sdp_wait_seconds", {}, {}, "Time waited.")).empty());
  EXPECT_TRUE(Problems(CounterMetric("sdp_sent_bytes_total", {}, "Bytes so far.")).empty());
}

}  // namespace
}  // namespace sdp
