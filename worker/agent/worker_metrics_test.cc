#include "worker/agent/worker_metrics.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace sdp {
namespace {

// A mesh of four ranks that has counted something else everywhere.
class CountedMesh : public Mesh {
 public:
  Rank rank() const override { return 0; }
  int world_size() const override { return 4; }
  absl::StatusOr<std::unique_ptr<Communicator>> Group(std::vector<Rank>, uint32_t) override {
    return absl::UnimplementedError("counts only");
  }
  void Abort(absl::string_view) override {}
  ByteCount bytes(Collective collective) const override {
    const int64_t i = static_cast<int64_t>(collective);
    return {100 + i, 200 + i};
  }
  ByteCount bytes_of_group_size(int size) const override { return {1000 + size, 2000 + size}; }
};

// Statistics after `steps` steps in which each phase took its own time per step.
TrainerStats StatsAfter(int steps) {
  TrainerStats stats;
  stats.committed_steps = steps;
  stats.phase_seconds.data = 0.001 * steps;
  stats.phase_seconds.forward = 0.25 * steps;
  stats.phase_seconds.backward = 0.5 * steps;
  stats.phase_seconds.average_wait = 0.125 * steps;
  stats.phase_seconds.commit = 0.002 * steps;
  stats.phase_seconds.update = 0.004 * steps;
  stats.averaging_seconds = 0.5 * steps;
  stats.exposed_averaging_seconds = 0.125 * steps;
  stats.tensor_bytes = 1000 + steps;
  stats.peak_tensor_bytes = 2000 + steps;
  return stats;
}

std::vector<CommittedStep> Steps(const std::vector<double>& losses) {
  std::vector<CommittedStep> steps;
  for (const double loss : losses) {
    CommittedStep step;
    step.loss = loss;
    step.tokens = 4096;
    step.skipped = !std::isfinite(loss);
    steps.push_back(step);
  }
  return steps;
}

class JobMetricsTest : public testing::Test {
 protected:
  // The value of the series with these labels after job_id, as in `name{job_id="job-1",phase="data"}`; NaN:
  // there is none.
  double Value(const std::string& name, const std::string& label = "", const std::string& value = "") const {
    const std::string job = "job_id=\"job-1\"";
    const std::string other = absl::StrCat(label, "=\"", value, "\"");
    std::string labels = job;
    if (!label.empty()) {
      labels = label < "job_id" ? absl::StrCat(other, ",", job) : absl::StrCat(job, ",", other);
    }
    const std::string begin = absl::StrCat("\n", name, "{", labels, "} ");
    const std::string text = registry_.Text();
    const size_t at = text.find(begin);
    if (at == std::string::npos) return std::numeric_limits<double>::quiet_NaN();
    return std::stod(text.substr(at + begin.size()));
  }

  Registry registry_;
  const WireBytes no_bytes_{};
};

TEST_F(JobMetricsTest, StepsTokensAndLoss) {
  JobMetrics job(registry_, JobId("job-1"), 512);
  EXPECT_EQ(Value("sdp_worker_steps_total"), 0);
  EXPECT_TRUE(std::isnan(Value("sdp_worker_loss")));  // none yet, rather than 0
  job.Update(StatsAfter(2), Steps({5.5, 5.25}), no_bytes_);
  job.Update(StatsAfter(3), Steps({5}), no_bytes_);
  EXPECT_EQ(Value("sdp_worker_steps_total"), 3);
  EXPECT_EQ(Value("sdp_worker_tokens_total"), 3 * 512);
  EXPECT_EQ(Value("sdp_worker_loss"), 5);
  EXPECT_EQ(Value("sdp_worker_tensor_bytes"), 1003);
  EXPECT_EQ(Value("sdp_worker_tensor_peak_bytes"), 2003);
}

TEST_F(JobMetricsTest, ASkippedStepLeavesTheLoss) {
  JobMetrics job(registry_, JobId("job-1"), 512);
  job.Update(StatsAfter(2), Steps({5.5, std::nan("")}), no_bytes_);
  EXPECT_EQ(Value("sdp_worker_loss"), 5.5);
  EXPECT_EQ(Value("sdp_worker_steps_total"), 2);
}

TEST_F(JobMetricsTest, EachStepIsObservedInEachPhase) {
  JobMetrics job(registry_, JobId("job-1"), 512);
  job.Update(StatsAfter(1), Steps({5}), no_bytes_);
  job.Update(StatsAfter(4), Steps({5, 5, 5}), no_bytes_);
  for (const auto& [phase, sum] : std::vector<std::pair<std::string, double>>{{"data", 0.004},
                                                                              {"forward", 1},
                                                                              {"backward", 2},
                                                                              {"average_wait", 0.5},
                                                                              {"commit", 0.008},
                                                                              {"update", 0.016}}) {
    EXPECT_EQ(Value("sdp_worker_step_phase_seconds_count", "phase", phase), 4) << phase;
    EXPECT_NEAR(Value("sdp_worker_step_phase_seconds_sum", "phase", phase), sum, 1e-9) << phase;
  }
}

TEST_F(JobMetricsTest, TimeOfAnUncommittedStepWaitsForItsCommit) {
  JobMetrics job(registry_, JobId("job-1"), 512);
  TrainerStats stats = StatsAfter(0);
  stats.phase_seconds.forward = 0.25;
  job.Update(stats, {}, no_bytes_);
  EXPECT_EQ(Value("sdp_worker_step_phase_seconds_count", "phase", "forward"), 0);
  job.Update(StatsAfter(1), Steps({5}), no_bytes_);
  EXPECT_EQ(Value("sdp_worker_step_phase_seconds_count", "phase", "forward"), 1);
  EXPECT_NEAR(Value("sdp_worker_step_phase_seconds_sum", "phase", "forward"), 0.25, 1e-9);
}

TEST_F(JobMetricsTest, BytesByCollectiveAndHolderSet) {
  JobMetrics job(registry_, JobId("job-1"), 512);
  const WireBytes bytes = CountWireBytes(CountedMesh());
  job.Update(StatsAfter(1), {}, bytes);
  job.Update(StatsAfter(1), {}, bytes);
  int64_t i = 0;
  for (const std::string name :
       {"all_reduce", "reduce_scatter", "all_gather", "broadcast", "send_recv", "barrier"}) {
    EXPECT_EQ(Value("sdp_worker_sent_bytes_total", "collective", name), 100 + i) << name;
    EXPECT_EQ(Value("sdp_worker_received_bytes_total", "collective", name), 200 + i) << name;
    ++i;
  }
  for (int size = 2; size <= 4; ++size) {
    EXPECT_EQ(Value("sdp_worker_holder_set_sent_bytes_total", "holders", absl::StrCat(size)), 1000 + size);
    EXPECT_EQ(Value("sdp_worker_holder_set_received_bytes_total", "holders", absl::StrCat(size)),
              2000 + size);
  }
  EXPECT_TRUE(std::isnan(Value("sdp_worker_holder_set_sent_bytes_total", "holders", "1")));
}

TEST_F(JobMetricsTest, CountersGoOnWhenATrainerBeginsAgain) {
  JobMetrics job(registry_, JobId("job-1"), 512);
  job.Update(StatsAfter(4), Steps({5, 5, 5, 5}), no_bytes_);
  EXPECT_EQ(Value("sdp_worker_averaging_seconds_total"), 2);
  EXPECT_EQ(Value("sdp_worker_exposed_averaging_seconds_total"), 0.5);
  job.Update(StatsAfter(1), Steps({5}), no_bytes_);
  EXPECT_EQ(Value("sdp_worker_averaging_seconds_total"), 2.5);
  EXPECT_EQ(Value("sdp_worker_exposed_averaging_seconds_total"), 0.625);
  EXPECT_EQ(Value("sdp_worker_step_phase_seconds_sum", "phase", "backward"), 2.5);
}

TEST_F(JobMetricsTest, EverySeriesGoesWithTheJob) {
  {
    JobMetrics job(registry_, JobId("job-1"), 512);
    job.Update(StatsAfter(1), Steps({5}), CountWireBytes(CountedMesh()));
    EvaluationOutcome outcome;
    outcome.subnetwork_loss = 4.5;
    job.OnEvaluation(outcome);
    EXPECT_EQ(Value("sdp_worker_subnetwork_loss"), 4.5);
  }
  EXPECT_FALSE(absl::StrContains(registry_.Text(), "job-1"));
}

TEST(WorkerMetricsTest, JobsComeAndGo) {
  const auto served = WorkerMetrics::Serve("127.0.0.1:0", "worker-0");
  ASSERT_TRUE(served.ok()) << served.status();
  WorkerMetrics& metrics = **served;
  EXPECT_GT(metrics.port(), 0);
  EXPECT_TRUE(absl::StrContains(metrics.registry().Text(), "sdp_worker_info{worker=\"worker-0\"} 1"));
  EXPECT_TRUE(absl::StrContains(metrics.registry().Text(), "sdp_build_info{role=\"worker\""));
  // Without a job there is nothing to update.
  metrics.Update(StatsAfter(1), Steps({5}), {});
  metrics.OnEvaluation({});
  metrics.EndJob();
  EXPECT_FALSE(absl::StrContains(metrics.registry().Text(), "job_id"));
  for (const std::string job : {"job-1", "job-1", "job-2"}) {
    metrics.BeginJob(JobId(job), 512);
    metrics.Update(StatsAfter(1), Steps({5}), {});
    EXPECT_TRUE(absl::StrContains(metrics.registry().Text(),
                                  absl::StrCat("sdp_worker_steps_total{job_id=\"", job, "\"} 1\n")));
  }
  EXPECT_FALSE(absl::StrContains(metrics.registry().Text(), "job-1"));
  metrics.EndJob();
  EXPECT_FALSE(absl::StrContains(metrics.registry().Text(), "job_id"));
}

TEST(WorkerMetricsTest, ABadAddressIsAnError) {
  EXPECT_EQ(WorkerMetrics::Serve("nowhere", "worker-0").status().code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace sdp
