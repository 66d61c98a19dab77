// Whole jobs on real processes: submit, train, validate, export; one job after another; nothing left behind.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>

#include "absl/strings/str_cat.h"
#include "tests/cluster.h"

namespace sdp::testing {
namespace {

using ::testing::HasSubstr;

TinySpec Spec(const Cluster& cluster, const std::string& output = "model") {
  TinySpec spec;
  spec.data_directory = cluster.directory();
  spec.output_directory = absl::StrCat(cluster.directory(), "/", output);
  return spec;
}

// Every tensor that the exported index names is in a file that is there.
void ExpectExported(const std::string& directory, size_t tensors) {
  const std::string text = ReadTestFile(directory + "/model.safetensors.index.json");
  ASSERT_FALSE(text.empty()) << directory;
  const nlohmann::json index = nlohmann::json::parse(text);
  EXPECT_EQ(index.at("weight_map").size(), tensors);
  for (const auto& [tensor, file] : index.at("weight_map").items()) {
    EXPECT_TRUE(std::filesystem::exists(directory + "/" + file.get<std::string>()))
        << tensor << " in " << file;
  }
  EXPECT_FALSE(ReadTestFile(directory + "/config.json").empty());
}

TEST(EndToEnd, AJobSubmittedBeforeAnyWorkerWaitsAndThenRuns) {
  Cluster cluster;
  WriteShards(cluster.directory());
  TinySpec spec = Spec(cluster);
  spec.workers = 4;
  spec.layers = 8;
  spec.active_ratio = 0.5;
  spec.evaluation_interval = 10;
  const std::string job = cluster.Submit(spec.Yaml());
  EXPECT_EQ(cluster.Get(job).state(), v1::JOB_STATE_QUEUED);
  EXPECT_THAT(cluster.Get(job).state_reason(), HasSubstr("4"));

  cluster.StartWorkers(4);
  const v1::Job done = cluster.WaitForState(job, v1::JOB_STATE_SUCCEEDED);
  EXPECT_EQ(done.progress().step(), 20);
  EXPECT_EQ(done.progress().tokens(), 20 * 8 * 32);
  EXPECT_EQ(done.evaluation().step(), 20);
  EXPECT_EQ(done.evaluation().subnetwork_losses_size(), 4);
  // Byte tokens of nine words: far below the uniform ln 256 = 5.5 after a few steps.
  EXPECT_LT(done.evaluation().full_loss(), 4.5);
  EXPECT_GT(done.evaluation().full_loss(), 0.0);
  EXPECT_EQ(done.plan().summary().coverage_minimum(), 2);
  ExpectExported(cluster.directory() + "/model", 8 * 9 + 3);

  int evaluations = 0;
  int64_t sequence = 0;
  for (const v1::JobEvent& event : cluster.Events(job)) {
    EXPECT_EQ(event.sequence(), ++sequence) << "events are numbered without holes";
    EXPECT_FALSE(event.message().empty()) << event.DebugString();
    evaluations += event.kind() == v1::JOB_EVENT_KIND_EVALUATED;
  }
  EXPECT_EQ(evaluations, 2);
}

TEST(EndToEnd, TwoJobsOneAfterAnotherOnTheSameWorkers) {
  Cluster cluster;
  WriteShards(cluster.directory());
  cluster.StartWorkers(2);
  const std::string first = cluster.Submit(Spec(cluster, "first").Yaml());
  const std::string second = cluster.Submit(Spec(cluster, "second").Yaml());
  const v1::Job one = cluster.WaitForState(first, v1::JOB_STATE_SUCCEEDED);
  const v1::Job two = cluster.WaitForState(second, v1::JOB_STATE_SUCCEEDED);
  EXPECT_GE(two.start_time().seconds(), one.end_time().seconds());
  EXPECT_EQ(one.evaluation().full_loss(), two.evaluation().full_loss()) << "the same spec gives the same run";
  EXPECT_EQ(ReadTestFile(cluster.directory() + "/first/config.json"),
            ReadTestFile(cluster.directory() + "/second/config.json"));
}

TEST(EndToEnd, BytesOnTheWireAreTheRingMinimum) {
  Cluster cluster;
  WriteShards(cluster.directory());
  cluster.StartWorkers(4);
  TinySpec spec = Spec(cluster);
  spec.workers = 4;
  spec.layers = 8;
  spec.active_ratio = 0.5;
  const v1::Job job = cluster.WaitForState(cluster.Submit(spec.Yaml()), v1::JOB_STATE_SUCCEEDED);
  ASSERT_EQ(job.progress().workers_size(), 4);
  for (int rank = 0; rank < 4; ++rank) {
    const double planned = 20.0 * job.plan().summary().workers(rank).bytes_per_step();
    EXPECT_LE(job.progress().workers(rank).bytes_sent(), 1.02 * planned) << "rank " << rank;
    EXPECT_GE(job.progress().workers(rank).bytes_sent(), planned) << "rank " << rank;
  }
}

TEST(EndToEnd, ParameterAveragingAndTokenStopRun) {
  Cluster cluster;
  WriteShards(cluster.directory());
  cluster.StartWorkers(2);
  TinySpec spec = Spec(cluster);
  spec.extra = "averaging: {mode: parameters, every_steps: 4}\n";
  const v1::Job job = cluster.WaitForState(cluster.Submit(spec.Yaml()), v1::JOB_STATE_SUCCEEDED);
  EXPECT_EQ(job.progress().step(), 20);
  EXPECT_LT(job.evaluation().full_loss(), 5.0);
}

TEST(EndToEnd, TwentyJobsLeaveNothingBehind) {
  Cluster cluster;
  WriteShards(cluster.directory());
  cluster.StartWorkers(2);
  TinySpec spec = Spec(cluster);
  spec.steps = 3;
  const auto run = [&](int jobs) {
    for (int i = 0; i < jobs; ++i) cluster.WaitForState(cluster.Submit(spec.Yaml()), v1::JOB_STATE_SUCCEEDED);
  };
  // Thread pools and allocators reach their working size first.
  run(8);
  struct Use {
    int64_t resident;
    int threads;
    int files;
  };
  const auto use = [](const Process& p) { return Use{p.ResidentBytes(), p.Threads(), p.OpenFiles()}; };
  const Use worker_before = use(cluster.worker("w0"));
  const Use coordinator_before = use(cluster.coordinator());
  run(20);
  // A heartbeat that reads /proc, a session that is being taken down or a connection of the test's own may be
  // there at the moment of counting; what a job leaves behind stays.
  // gRPC's pool grows and shrinks by a few threads with the moment's load; one left by each job would be 20.
  constexpr int kPoolThreads = 4;
  const auto expect_no_growth = [&](const Process& process, const Use& before, const char* name) {
    Use after;
    EXPECT_TRUE(Eventually(absl::Seconds(20),
                           [&] {
                             after = use(process);
                             return after.threads <= before.threads + kPoolThreads &&
                                    after.files <= before.files &&
                                    after.resident <= before.resident + (8 << 20);
                           }))
        << name << ": threads " << before.threads << " -> " << after.threads << ", open files "
        << before.files << " -> " << after.files << ", resident bytes " << before.resident << " -> "
        << after.resident;
  };
  expect_no_growth(cluster.worker("w0"), worker_before, "worker");
  expect_no_growth(cluster.coordinator(), coordinator_before, "coordinator");
}

}  // namespace
}  // namespace sdp::testing
