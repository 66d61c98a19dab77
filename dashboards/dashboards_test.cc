// The dashboards show metrics that exist, by queries that Prometheus can read.

#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cstdlib>
#include <map>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "common/metrics/names.h"
#include "common/testing/temporary_folder.h"

namespace sdp {
namespace {

using nlohmann::json;

const json& Dashboard() {
  static const json& dashboard = *new json(json::parse(ReadTestFile("dashboards/sdp-jobs.json")));
  return dashboard;
}

// Panels that show something, in order.
std::vector<json> Panels() {
  std::vector<json> panels;
  for (const json& panel : Dashboard().at("panels")) {
    if (panel.at("type") != "row") panels.push_back(panel);
  }
  return panels;
}

std::vector<std::string> Queries() {
  std::vector<std::string> queries;
  for (const json& panel : Panels()) {
    for (const json& target : panel.at("targets")) queries.push_back(target.at("expr"));
  }
  return queries;
}

// The series names of a metric, each with its metric.
std::map<std::string, const Metric*> SeriesNames() {
  std::map<std::string, const Metric*> names;
  for (const Metric* metric : metrics::kTable) {
    if (metric->type == MetricType::kHistogram) {
      for (const char* suffix : {"_bucket", "_sum", "_count"})
        names[absl::StrCat(metric->name, suffix)] = metric;
    } else {
      names[metric->name] = metric;
    }
  }
  return names;
}

std::set<std::string> NamesIn(const std::string& query) {
  static const std::regex kName("\\bsdp_[a-z0-9_]*");
  std::set<std::string> names;
  for (std::sregex_iterator it(query.begin(), query.end(), kName), end; it != end; ++it)
    names.insert(it->str());
  return names;
}

TEST(DashboardsTest, EveryNameIsInTheTable) {
  const auto series = SeriesNames();
  std::vector<std::string> queries = Queries();
  for (const json& variable : Dashboard().at("templating").at("list")) {
    if (variable.at("type") == "query") queries.push_back(variable.at("query").at("query"));
  }
  for (const std::string& query : queries) {
    EXPECT_FALSE(NamesIn(query).empty()) << query;
    for (const std::string& name : NamesIn(query))
      EXPECT_EQ(series.count(name), 1u) << name << " in " << query;
  }
}

TEST(DashboardsTest, EveryMetricIsShown) {
  const auto series = SeriesNames();
  std::set<const Metric*> shown;
  for (const std::string& query : Queries()) {
    for (const std::string& name : NamesIn(query)) {
      if (series.count(name) > 0) shown.insert(series.at(name));
    }
  }
  for (const Metric* metric : metrics::kTable) EXPECT_EQ(shown.count(metric), 1u) << metric->name;
}

TEST(DashboardsTest, LabelsBelongToTheirMetrics) {
  // Set by Prometheus on every series.
  const std::set<std::string> target_labels = {"job", "instance", "le"};
  const std::regex matcher("(sdp_[a-z0-9_]*)\\{([^}]*)\\}");
  const std::regex label("([a-z_]+)=~");
  const auto series = SeriesNames();
  for (const std::string& query : Queries()) {
    for (std::sregex_iterator it(query.begin(), query.end(), matcher), end; it != end; ++it) {
      const Metric* metric = series.at((*it)[1]);
      const std::string labels = (*it)[2];
      EXPECT_TRUE(absl::StrContains(labels, "job=~\"$job\"")) << query;
      for (std::sregex_iterator l(labels.begin(), labels.end(), label); l != end; ++l) {
        const std::string name = (*l)[1];
        bool known = target_labels.count(name) > 0;
        for (const char* own : metric->labels) known = known || name == own;
        EXPECT_TRUE(known) << name << " in " << query;
      }
    }
  }
}

TEST(DashboardsTest, CountersAreShownAsRates) {
  const auto series = SeriesNames();
  for (const std::string& query : Queries()) {
    for (const std::string& name : NamesIn(query)) {
      if (series.count(name) == 0 || series.at(name)->type == MetricType::kGauge) continue;
      EXPECT_TRUE(absl::StrContains(query, absl::StrCat("rate(", name, "{"))) << query;
    }
    const std::regex range("\\[([^\\]]*)\\]");
    for (std::sregex_iterator it(query.begin(), query.end(), range), end; it != end; ++it) {
      EXPECT_EQ((*it)[1], "$__rate_interval") << query;
    }
  }
}

TEST(DashboardsTest, EveryPanelExplainsItself) {
  EXPECT_FALSE(Panels().empty());
  for (const json& panel : Panels()) {
    const std::string title = panel.at("title");
    EXPECT_FALSE(title.empty());
    EXPECT_GT(panel.at("description").get<std::string>().size(), 10u) << title;
    EXPECT_FALSE(panel.at("fieldConfig").at("defaults").at("unit").get<std::string>().empty()) << title;
    EXPECT_EQ(panel.at("datasource").at("uid"), "${datasource}") << title;
    for (const json& target : panel.at("targets"))
      EXPECT_EQ(target.at("datasource").at("uid"), "${datasource}");
  }
}

TEST(DashboardsTest, PanelsHaveTheirOwnNumberAndPlace) {
  std::set<int> numbers;
  std::set<std::pair<int, int>> taken;
  for (const json& panel : Dashboard().at("panels")) {
    EXPECT_TRUE(numbers.insert(panel.at("id").get<int>()).second) << panel.at("title");
    const json& place = panel.at("gridPos");
    EXPECT_LE(place.at("x").get<int>() + place.at("w").get<int>(), 24) << panel.at("title");
    for (int x = place.at("x"); x < place.at("x").get<int>() + place.at("w").get<int>(); ++x) {
      for (int y = place.at("y"); y < place.at("y").get<int>() + place.at("h").get<int>(); ++y) {
        EXPECT_TRUE(taken.insert({x, y}).second) << panel.at("title") << " overlaps at " << x << "," << y;
      }
    }
  }
}

TEST(DashboardsTest, TheDashboardCanBeMovedBetweenGrafanas) {
  EXPECT_EQ(Dashboard().at("schemaVersion"), 39);
  EXPECT_EQ(Dashboard().at("uid"), "sdp-jobs");
  std::map<std::string, json> variables;
  for (const json& variable : Dashboard().at("templating").at("list"))
    variables[variable.at("name")] = variable;
  EXPECT_EQ(variables.at("datasource").at("type"), "datasource");
  for (const char* name : {"job", "instance", "job_id"}) {
    EXPECT_EQ(variables.at(name).at("multi"), true) << name;
    EXPECT_EQ(variables.at(name).at("includeAll"), true) << name;
    EXPECT_EQ(variables.at(name).at("allValue"), ".+") << name;
  }
}

TEST(DashboardsTest, PrometheusReadsEveryQuery) {
  const TemporaryFolder folder;
  json rules = json::array();
  for (const std::string& query : Queries()) {
    rules.push_back(
        {{"record", absl::StrCat("query:", rules.size())},
         {"expr",
          absl::StrReplaceAll(
              query, {{"$__rate_interval", "1m"}, {"$job_id", ".+"}, {"$job", ".+"}, {"$instance", ".+"}})}});
  }
  // JSON is YAML.
  WriteTestFile(folder / "rules.yaml", json{{"groups", {{{"name", "queries"}, {"rules", rules}}}}}.dump());
  const std::string command =
      absl::StrCat("promtool check rules '", folder / "rules.yaml", "' > '", folder / "output", "' 2>&1");
  const int status = std::system(command.c_str());
  EXPECT_EQ(WEXITSTATUS(status), 0) << ReadTestFile(folder / "output");
  EXPECT_TRUE(absl::StrContains(ReadTestFile(folder / "output"), absl::StrCat(rules.size(), " rules found")))
      << ReadTestFile(folder / "output");
}

}  // namespace
}  // namespace sdp
