// Faults on real processes: each ends in a clear reason, within a bound, and leaves the others able to work.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <filesystem>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "tests/cluster.h"

namespace sdp::testing {
namespace {

using ::testing::AnyOf;
using ::testing::HasSubstr;

constexpr int64_t kEndless = 1000000;

TinySpec Spec(const Cluster& cluster, int workers, int64_t steps = 5) {
  TinySpec spec;
  spec.data_directory = cluster.directory();
  spec.output_directory = cluster.directory() + "/model";
  spec.workers = workers;
  if (workers == 1) spec.active_ratio = 1;
  spec.steps = steps;
  return spec;
}

void ExpectIdleAndWorking(Cluster& cluster, const std::vector<std::string>& workers) {
  for (const std::string& worker : workers) {
    EXPECT_TRUE(cluster.WaitForWorkerState(worker, v1::WORKER_STATE_IDLE)) << worker << "\n"
                                                                           << cluster.Logs();
  }
  cluster.WaitForState(cluster.Submit(Spec(cluster, static_cast<int>(workers.size())).Yaml()),
                       v1::JOB_STATE_SUCCEEDED);
}

// Runs an endless job on four workers, strikes w2, and expects the job to fail within ten seconds, naming w2.
void ExpectLossIsNamed(Cluster& cluster, int signal) {
  WriteShards(cluster.directory());
  cluster.StartWorkers(4);
  const std::string job = cluster.Submit(Spec(cluster, 4, kEndless).Yaml());
  cluster.WaitForStep(job, 3);
  cluster.worker("w2").Signal(signal);
  const v1::Job failed = cluster.WaitForState(job, v1::JOB_STATE_FAILED, absl::Seconds(10));
  EXPECT_THAT(failed.state_reason(), HasSubstr("w2"));
  EXPECT_THAT(failed.state_reason(), HasSubstr("step"));
  ExpectIdleAndWorking(cluster, {"w0", "w1", "w3"});
}

TEST(Faults, AKilledWorkerFailsTheJobByName) {
  Cluster cluster;
  ExpectLossIsNamed(cluster, SIGKILL);
  // The name is free again for a new process.
  cluster.StartWorker("w2");
  ExpectIdleAndWorking(cluster, {"w0", "w1", "w2", "w3"});
}

TEST(Faults, AFrozenWorkerFailsTheJobByName) {
  Cluster cluster;
  ExpectLossIsNamed(cluster, SIGSTOP);
  cluster.worker("w2").Signal(SIGCONT);
}

TEST(Faults, ATerminatedWorkerLeavesCleanly) {
  Cluster cluster;
  ExpectLossIsNamed(cluster, SIGTERM);
  int exit_code = -1;
  EXPECT_TRUE(cluster.worker("w2").WaitForExit(kPatience, &exit_code)) << cluster.Logs();
  EXPECT_EQ(exit_code, 0);
}

TEST(Faults, CancellingFreesTheWorkers) {
  Cluster cluster;
  WriteShards(cluster.directory());
  cluster.StartWorkers(2);
  const std::string job = cluster.Submit(Spec(cluster, 2, kEndless).Yaml());
  cluster.WaitForStep(job, 1);
  const Result cancel = cluster.Sdpctl({"job", "cancel", job});
  EXPECT_EQ(cancel.exit_code, 0) << cancel.err;
  cluster.WaitForState(job, v1::JOB_STATE_CANCELLED);
  ExpectIdleAndWorking(cluster, {"w0", "w1"});
}

TEST(Faults, BadDataIsNamed) {
  Cluster cluster;
  WriteShards(cluster.directory());
  cluster.StartWorkers(2);
  const std::string good = ReadTestFile(cluster.directory() + "/train.bin");
  struct Case {
    std::string name;
    std::string content;  // empty: no file
  };
  const std::string truncated = good.substr(0, good.size() - 100);
  std::string high_token = good;
  for (size_t i = 1024; i + 1 < high_token.size(); i += 2) high_token[i + 1] = 1;  // all tokens 256 and above
  const std::vector<Case> cases = {{"missing.bin", ""},
                                   {"truncated.bin", truncated},
                                   {"vocabulary.bin", high_token},
                                   {"short.bin", good.substr(0, 8) + std::string("\x05\0\0\0", 4) +
                                                     std::string(1012, '\0') + good.substr(1024, 10)}};
  for (const Case& c : cases) {
    if (!c.content.empty()) WriteTestFile(absl::StrCat(cluster.directory(), "/", c.name), c.content);
    std::string yaml = Spec(cluster, 2).Yaml();
    yaml.replace(yaml.find("train.bin"), 9, c.name);
    const v1::Job job = cluster.WaitForState(cluster.Submit(yaml), v1::JOB_STATE_FAILED);
    EXPECT_THAT(job.state_reason(), HasSubstr(c.name));
  }
  ExpectIdleAndWorking(cluster, {"w0", "w1"});
}

TEST(Faults, WorkersWithDifferentFilesAreRefused) {
  Cluster cluster;
  // One path, two files: /proc/self/cwd is another folder for each worker.
  for (const char* name : {"a", "b"}) {
    const std::string directory = absl::StrCat(cluster.directory(), "/", name);
    std::filesystem::create_directory(directory);
    WriteShards(directory);
    Process::Options options;
    options.working_directory = directory;
    cluster.StartWorker(name, {}, options);
  }
  std::string other = ReadTestFile(cluster.directory() + "/b/train.bin");
  other[other.size() / 2] ^= 1;
  WriteTestFile(cluster.directory() + "/b/train.bin", other);
  TinySpec spec = Spec(cluster, 2);
  spec.data_directory = "/proc/self/cwd";
  const v1::Job job = cluster.WaitForState(cluster.Submit(spec.Yaml()), v1::JOB_STATE_FAILED);
  EXPECT_THAT(job.state_reason(), HasSubstr("train.bin"));
  EXPECT_THAT(job.state_reason(), HasSubstr("b"));
}

TEST(Faults, AnUnreachableAddressNamesTheWorker) {
  Cluster cluster;
  WriteShards(cluster.directory());
  cluster.StartWorker("good");
  cluster.StartWorker("bad", {"--bind", "127.0.0.1", "--advertise", "127.0.0.99"});
  const v1::Job job = cluster.WaitForState(cluster.Submit(Spec(cluster, 2).Yaml()), v1::JOB_STATE_FAILED);
  EXPECT_THAT(job.state_reason(), HasSubstr("bad"));
  EXPECT_THAT(job.state_reason(), HasSubstr("127.0.0.99"));
}

TEST(Faults, OutputThatCannotBeWrittenIsNamedBeforeTraining) {
  Cluster cluster;
  WriteShards(cluster.directory());
  cluster.StartWorkers(2);
  WriteTestFile(cluster.directory() + "/file", "not a folder");
  TinySpec spec = Spec(cluster, 2);
  for (const std::string& directory : {std::string("/proc/sdp"), cluster.directory() + "/file/model"}) {
    spec.output_directory = directory;
    const v1::Job job = cluster.WaitForState(cluster.Submit(spec.Yaml()), v1::JOB_STATE_FAILED);
    EXPECT_THAT(job.state_reason(), HasSubstr(directory));
    EXPECT_EQ(job.progress().step(), 0);
  }
  ExpectIdleAndWorking(cluster, {"w0", "w1"});
}

TEST(Faults, ALossThatIsNotFiniteIsSkippedByAllAndThenFailsTheJob) {
  Cluster cluster;
  WriteShards(cluster.directory());
  cluster.StartWorkers(2);
  std::string yaml = Spec(cluster, 2, 200).Yaml();
  yaml.replace(yaml.find("learning_rate: 3e-3"), 19, "learning_rate: 1e30");
  const v1::Job job = cluster.WaitForState(cluster.Submit(yaml), v1::JOB_STATE_FAILED);
  EXPECT_THAT(job.state_reason(), HasSubstr("finite"));
  ExpectIdleAndWorking(cluster, {"w0", "w1"});
}

TEST(Faults, ASecondWorkerOfTheSameNameIsRefused) {
  Cluster cluster;
  WriteShards(cluster.directory());
  cluster.StartWorkers(1);
  Process second({"worker/worker", "--coordinator", cluster.address(), "--name", "w0", "--threads", "1"},
                 cluster.directory() + "/second.log");
  int exit_code = -1;
  ASSERT_TRUE(second.WaitForExit(kPatience, &exit_code)) << cluster.Logs();
  EXPECT_EQ(exit_code, 1);
  EXPECT_THAT(second.Log(), HasSubstr("w0"));
  ExpectIdleAndWorking(cluster, {"w0"});
}

TEST(Faults, AWorkerWaitsForItsCoordinator) {
  const TemporaryFolder folder;
  // Port 1 is served by nobody.
  Process worker({"worker/worker", "--coordinator", "127.0.0.1:1", "--name", "alone", "--threads", "1"},
                 folder / "worker.log");
  EXPECT_TRUE(Eventually(kPatience, [&] { return worker.Log().find("trying again") != std::string::npos; }))
      << worker.Log();
  worker.Signal(SIGINT);
  int exit_code = -1;
  ASSERT_TRUE(worker.WaitForExit(kPatience, &exit_code)) << worker.Log();
  EXPECT_EQ(exit_code, 0);

  const Result sdpctl = RunCommand({"cli/sdpctl", "--coordinator", "127.0.0.1:1", "job", "list"});
  EXPECT_EQ(sdpctl.exit_code, 3);
  EXPECT_THAT(sdpctl.err, HasSubstr("127.0.0.1:1"));
}

TEST(Faults, ACoordinatorThatEndsTakesNobodyWithIt) {
  Cluster cluster;
  WriteShards(cluster.directory());
  cluster.StartWorkers(2);
  const std::string job = cluster.Submit(Spec(cluster, 2, kEndless).Yaml());
  cluster.WaitForStep(job, 1);
  cluster.coordinator().Signal(SIGTERM);
  int exit_code = -1;
  ASSERT_TRUE(cluster.coordinator().WaitForExit(kPatience, &exit_code)) << cluster.Logs();
  EXPECT_EQ(exit_code, 0);
  for (const char* name : {"w0", "w1"}) {
    EXPECT_TRUE(Eventually(kPatience, [&] {
      return cluster.worker(name).Log().find("trying again") != std::string::npos;
    })) << cluster.Logs();
  }
}

}  // namespace
}  // namespace sdp::testing
