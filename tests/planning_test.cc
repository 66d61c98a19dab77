// Plans on real processes: what a plan says is what happens, for unequal workers and every way to make a
// mask.

#include <gmock/gmock.h>
#include <google/protobuf/util/json_util.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "tests/cluster.h"

namespace sdp::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

TinySpec Spec(const Cluster& cluster, int workers, double active_ratio) {
  TinySpec spec;
  spec.data_directory = cluster.directory();
  spec.output_directory = cluster.directory() + "/model";
  spec.workers = workers;
  spec.layers = 8;
  spec.active_ratio = active_ratio;
  spec.steps = 10;
  return spec;
}

// The spec with another `masking` line.
std::string WithMasking(const TinySpec& spec, const std::string& masking) {
  std::string yaml = spec.Yaml();
  const size_t begin = yaml.find("masking: {");
  return yaml.replace(begin, yaml.find('\n', begin) - begin, "masking: " + masking);
}

// The spec with more in its `workers` line.
std::string WithWorkers(const std::string& yaml, const std::string& more) {
  const size_t end = yaml.find('}', yaml.find("workers: {"));
  return absl::StrCat(yaml.substr(0, end), ", ", more, yaml.substr(end));
}

void StartWorker(Cluster& cluster, const std::string& name, const std::vector<std::string>& flags) {
  cluster.StartWorker(name, flags);
  ASSERT_TRUE(cluster.WaitForWorkerState(name, v1::WORKER_STATE_IDLE)) << cluster.Logs();
}

v1::Plan PlanOfSdpctl(Cluster& cluster, const std::string& yaml) {
  const std::string file = cluster.directory() + "/plan.yaml";
  WriteTestFile(file, yaml);
  const Result result = cluster.Sdpctl({"plan", "-f", file, "--workers", "live", "-o", "json"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  v1::Plan plan;
  EXPECT_TRUE(google::protobuf::util::JsonStringToMessage(result.out, &plan).ok()) << result.out;
  return plan;
}

int Held(const v1::Plan& plan, int rank) {
  return static_cast<int>(std::count(plan.mask(rank).begin(), plan.mask(rank).end(), '1'));
}

// What workers measured stays within what was predicted, and that within their budgets.
void ExpectMemoryHolds(const v1::Job& job) {
  const v1::PlanSummary& summary = job.plan().summary();
  ASSERT_EQ(job.progress().workers_size(), summary.workers_size());
  for (int rank = 0; rank < summary.workers_size(); ++rank) {
    const v1::WorkerCost& predicted = summary.workers(rank);
    EXPECT_GT(job.progress().workers(rank).peak_tensor_bytes(), 0) << "rank " << rank;
    EXPECT_LE(job.progress().workers(rank).peak_tensor_bytes(), predicted.peak_memory_bytes())
        << "rank " << rank;
    if (predicted.memory_budget_bytes() == 0) continue;
    EXPECT_LE(predicted.peak_memory_bytes(), predicted.memory_budget_bytes()) << "rank " << rank;
  }
}

v1::Job Succeed(Cluster& cluster, const std::string& yaml) {
  v1::Job job = cluster.WaitForState(cluster.Submit(yaml), v1::JOB_STATE_SUCCEEDED);
  EXPECT_TRUE(std::filesystem::exists(cluster.directory() + "/model/model.safetensors.index.json"));
  return job;
}

TEST(Planning, UnequalWorkersGetUnequalParts) {
  Cluster cluster;
  WriteShards(cluster.directory());
  TinySpec spec = Spec(cluster, 3, 2.0 / 3);
  spec.evaluation_interval = 5;
  std::string yaml = spec.Yaml();
  yaml = absl::StrReplaceAll(yaml, {{"global_sequences: 8", "global_sequences: 32, micro_sequences: 2"}});
  StartWorker(cluster, "large", {"--memory", "1GiB"});
  StartWorker(cluster, "quick", {"--memory", "1GiB", "--relative-speed", "2"});
  StartWorker(cluster, "small", {"--memory", "1500KiB"});
  const v1::Plan planned = PlanOfSdpctl(cluster, yaml);

  const v1::Job job = Succeed(cluster, yaml);
  ASSERT_EQ(job.plan().members(0).worker(), "large");
  EXPECT_LT(Held(job.plan(), 2), Held(job.plan(), 0));
  EXPECT_LT(Held(job.plan(), 2), Held(job.plan(), 1));
  EXPECT_GT(job.plan().members(1).sequences(), job.plan().members(0).sequences());
  EXPECT_EQ(job.plan().summary().workers(1).relative_speed(), 2);
  EXPECT_EQ(job.plan().summary().workers(2).memory_budget_bytes(), 1500 << 10);
  ExpectMemoryHolds(job);
  // Nothing changed in between: the job's plan is the one that was shown.
  EXPECT_EQ(planned.digest(), job.plan().digest());
  EXPECT_EQ(planned.DebugString(), job.plan().DebugString());
}

TEST(Planning, EveryGeneratorTrainsToTheEnd) {
  Cluster cluster;
  WriteShards(cluster.directory());
  cluster.StartWorkers(4);
  for (const char* masking :
       {"{active_ratio: 0.5, generator: random}", "{active_ratio: 0.5, generator: cyclic}",
        "{active_ratio: 0.69, generator: cyclic}", "{active_ratio: 0.5, max_holder_sets: 4}",
        "{generator: full}"}) {
    SCOPED_TRACE(masking);
    const std::string yaml = WithMasking(Spec(cluster, 4, 1), masking);
    const v1::Plan planned = PlanOfSdpctl(cluster, yaml);
    const v1::Job job = Succeed(cluster, yaml);
    EXPECT_EQ(planned.DebugString(), job.plan().DebugString());
    EXPECT_GT(job.plan().summary().spectral_gap(), 0);
    if (absl::string_view(masking).find("sets") != absl::string_view::npos) {
      EXPECT_LE(job.plan().summary().component_holder_sets(), 4);
    }
    ExpectMemoryHolds(job);
  }
}

TEST(Planning, ADisconnectedMatrixRunsOnlyWhenAllowed) {
  Cluster cluster;
  WriteShards(cluster.directory());
  cluster.StartWorkers(4);
  TinySpec spec = Spec(cluster, 4, 1);
  spec.evaluation_interval = 5;
  const std::string matrix =
      R"(generator: explicit, matrix: ["11110000", "00001111", "11110000", "00001111"])";
  const v1::Job refused = cluster.WaitForState(
      cluster.Submit(WithMasking(spec, absl::StrCat("{", matrix, "}"))), v1::JOB_STATE_FAILED);
  EXPECT_THAT(refused.state_reason(), AllOf(HasSubstr("disconnected"), HasSubstr("{0, 2}, {1, 3}"),
                                            HasSubstr("masking.allow_disconnected")));
  EXPECT_EQ(refused.progress().step(), 0);

  const v1::Job job =
      Succeed(cluster, WithMasking(spec, absl::StrCat("{", matrix, ", allow_disconnected: true}")));
  EXPECT_EQ(job.plan().summary().spectral_gap(), 0.0);
  EXPECT_EQ(job.plan().mask(1), "00001111");
  // The full model is put together from both parts.
  EXPECT_EQ(job.evaluation().step(), 10);
  EXPECT_GT(job.evaluation().full_loss(), 0);
  EXPECT_LT(job.evaluation().full_loss(), 5.5);
  EXPECT_EQ(job.evaluation().subnetwork_losses_size(), 4);
  ExpectMemoryHolds(job);
}

// What stands before `after` in `text`, from the last `before` on.
std::string Between(const std::string& text, const std::string& before, const std::string& after) {
  const size_t end = text.find(after);
  const size_t begin = text.rfind(before, end);
  if (end == std::string::npos || begin == std::string::npos) return "";
  return text.substr(begin + before.size(), end - begin - before.size());
}

TEST(Planning, ABudgetThatIsTooSmallSaysWhatFitsAndThatRuns) {
  Cluster cluster;
  WriteShards(cluster.directory());
  cluster.StartWorkers(4);
  // Some blocks fit, and none.
  for (const char* budget : {"1MiB", "10KiB"}) {
    SCOPED_TRACE(budget);
    const std::string yaml = Spec(cluster, 4, 0.69).Yaml();  // not the same number of blocks for everyone
    const v1::Job failed = cluster.WaitForState(
        cluster.Submit(WithWorkers(yaml, absl::StrCat("memory_budget: ", budget))), v1::JOB_STATE_FAILED);
    EXPECT_EQ(failed.progress().step(), 0);
    const std::string& reason = failed.state_reason();
    EXPECT_THAT(reason, HasSubstr("w0"));
    const std::string enough = Between(reason, "with ", " on every worker it would fit");
    ASSERT_NE(enough, "") << reason;
    ExpectMemoryHolds(Succeed(cluster, WithWorkers(yaml, absl::StrCat("memory_budget: ", enough))));
  }
}

TEST(Planning, ProfilesOfTheSpecGoBeforeWhatWorkersDeclare) {
  Cluster cluster;
  WriteShards(cluster.directory());
  StartWorker(cluster, "a", {"--memory", "1GiB", "--relative-speed", "4"});
  StartWorker(cluster, "b", {"--memory", "1GiB"});
  StartWorker(cluster, "c", {"--memory", "1GiB"});
  std::string yaml = Spec(cluster, 3, 2.0 / 3).Yaml();
  yaml = absl::StrReplaceAll(yaml, {{"global_sequences: 8", "global_sequences: 32, micro_sequences: 2"}});
  yaml = WithWorkers(yaml,
                     "profiles: [{worker: a, relative_speed: 1, memory_budget: 1500KiB}, "
                     "{worker: b, relative_speed: 3}]");
  const v1::Job job = Succeed(cluster, yaml);
  const v1::PlanSummary& summary = job.plan().summary();
  EXPECT_EQ(summary.workers(0).relative_speed(), 1);
  EXPECT_EQ(summary.workers(0).memory_budget_bytes(), 1500 << 10);
  EXPECT_EQ(summary.workers(1).relative_speed(), 3);
  EXPECT_EQ(summary.workers(1).memory_budget_bytes(), 1 << 30);
  EXPECT_LT(Held(job.plan(), 0), Held(job.plan(), 2));
  EXPECT_GT(job.plan().members(1).sequences(), 2 * job.plan().members(2).sequences());
  ExpectMemoryHolds(job);
}

// Plans that take seconds are made while workers train; their heartbeats are read nevertheless.
TEST(Planning, LargePlansDoNotDisturbARunningJob) {
  Cluster cluster({"--heartbeat", "0.2", "--lost-after", "2"});
  WriteShards(cluster.directory());
  cluster.StartWorkers(2);
  TinySpec endless = Spec(cluster, 2, 0.75);
  endless.steps = 1000000;
  const std::string job = cluster.Submit(endless.Yaml());
  cluster.WaitForStep(job, 1);
  std::string large =
      absl::StrReplaceAll(Spec(cluster, 512, 0.5).Yaml(),
                          {{"layers: 8", "layers: 1024"}, {"global_sequences: 8", "global_sequences: 1024"}});
  WriteTestFile(cluster.directory() + "/large.yaml", large);
  std::vector<std::thread> clients;
  std::vector<int> codes(4, -1);
  for (int& code : codes) {
    clients.emplace_back([&cluster, &code] {
      code =
          cluster.Sdpctl({"plan", "-f", cluster.directory() + "/large.yaml", "--timeout", "80s"}).exit_code;
    });
  }
  for (std::thread& client : clients) client.join();
  EXPECT_THAT(codes, ::testing::Each(0));
  const v1::Job after = cluster.Get(job);
  EXPECT_EQ(after.state(), v1::JOB_STATE_RUNNING) << after.state_reason();
  cluster.WaitForStep(job, after.progress().step() + 1);
  EXPECT_EQ(cluster.Sdpctl({"job", "cancel", job}).exit_code, 0);
}

}  // namespace
}  // namespace sdp::testing
