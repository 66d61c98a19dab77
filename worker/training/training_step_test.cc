// Steps of the real trainer against the plain reference, and what must hold between workers.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "worker/training/memory_counter.h"
#include "worker/training/plain_trainer.h"
#include "worker/training/training_cluster.h"

namespace sdp {
namespace {

const std::vector<std::string> kHalf = {"1100", "0110", "0011", "1001"};

// Large enough that rounding of a gradient near zero does not decide the sign of its update.
JobSpec ComparedJob() {
  JobSpec spec = SmallJob();
  spec.optimizer.adamw.eps = 1e-4;
  return spec;
}

void ExpectParametersNear(TrainingCluster& cluster, const PlainTrainer& plain, double tolerance) {
  for (Rank rank = 0; rank < cluster.world_size(); ++rank) {
    for (size_t i = 0; i < cluster.table().parameters.size(); ++i) {
      const std::vector<double>& expected = plain.parameter(rank, static_cast<int>(i));
      if (expected.empty()) continue;
      const auto actual = cluster.trainer(rank).subnetwork().slice(static_cast<int>(i)).parameters;
      double worst = 0;
      for (size_t k = 0; k < expected.size(); ++k) {
        worst = std::max(worst, std::fabs(actual[k] - expected[k]));
      }
      EXPECT_LT(worst, tolerance) << cluster.table().parameters[i].name << " on rank " << rank;
    }
  }
}

struct Case {
  const char* name;
  std::vector<std::string> mask;
  std::vector<int> sequences;
  int micro = 0;
  bool tied = false;
};

class StepTest : public ::testing::TestWithParam<Case> {};

TEST_P(StepTest, EqualsThePlainReference) {
  JobSpec spec = ComparedJob();
  spec.batch.micro_sequences = GetParam().micro;
  spec.model.tied_embeddings = GetParam().tied;
  TrainingCluster cluster(spec, GetParam().mask, GetParam().sequences);
  PlainTrainer plain(spec, cluster.table(), cluster.plan(), cluster.train());
  for (int step = 0; step < 6; ++step) {
    const PlainTrainer::Outcome expected = plain.Step();
    const RoundOutcome outcome = cluster.Round();
    ASSERT_EQ(outcome.steps.size(), 1u);
    EXPECT_EQ(outcome.steps[0].step, step);
    EXPECT_EQ(outcome.steps[0].tokens, spec.tokens_per_step());
    EXPECT_NEAR(outcome.steps[0].loss, expected.loss, 1e-6 * expected.loss);
    EXPECT_NEAR(outcome.steps[0].gradient_norm, expected.gradient_norm, 1e-5 * expected.gradient_norm);
    ExpectParametersNear(cluster, plain, 1e-6);
  }
}

INSTANTIATE_TEST_SUITE_P(Masks, StepTest,
                         ::testing::Values(Case{"One", {"1111"}, {}}, Case{"Full", {"1111", "1111"}, {}},
                                           Case{"Half", kHalf, {}}, Case{"HalfMicro", kHalf, {}, 1, true},
                                           Case{"Uneven", {"1110", "0111", "1001"}, {4, 1, 3}, 2},
                                           Case{"RankWithoutSequences", {"1111", "0111", "1001"}, {5, 0, 3}},
                                           Case{"SoleHolders", {"1000", "0100", "0011"}, {}}),
                         [](const auto& info) { return std::string(info.param.name); });

TEST(TrainerTest, LossesAgreeOnAnyNumberOfWorkersThatHoldEverything) {
  std::vector<std::vector<double>> losses;
  for (const int workers : {1, 2, 4}) {
    TrainingCluster cluster(SmallJob(), std::vector<std::string>(workers, "1111"));
    losses.emplace_back();
    for (int step = 0; step < 30; ++step) losses.back().push_back(cluster.Round().steps.at(0).loss);
  }
  for (int step = 0; step < 30; ++step) {
    EXPECT_NEAR(losses[1][step], losses[0][step], 1e-4 * losses[0][step]) << "step " << step;
    EXPECT_NEAR(losses[2][step], losses[0][step], 1e-4 * losses[0][step]) << "step " << step;
  }
  EXPECT_LT(losses[0][29], 0.95 * losses[0][0]) << "and it learns";
}

TEST(TrainerTest, HoldersStayEqualBitForBit) {
  TrainingCluster cluster(SmallJob(), {"1100", "0110", "0011", "1001"}, {3, 2, 2, 1});
  std::vector<uint64_t> before = cluster.CommonHashes();
  for (int step = 0; step < 50; ++step) {
    EXPECT_FALSE(cluster.Round().steps.at(0).skipped);
    const std::vector<uint64_t> after = cluster.CommonHashes();
    for (size_t i = 0; i < after.size(); ++i) EXPECT_NE(after[i], before[i]) << "component " << i;
    before = after;
  }
}

TEST(TrainerTest, ParameterAveragingEqualsThePlainReference) {
  JobSpec spec = ComparedJob();
  spec.averaging.mode = AveragingMode::kParameters;
  spec.averaging.every_steps = 4;
  spec.stop_steps = 10;
  TrainingCluster cluster(spec, {"1100", "0110", "1011"}, {3, 1, 4});
  PlainTrainer plain(spec, cluster.table(), cluster.plan(), cluster.train());
  int64_t step = 0;
  for (const size_t steps : {4u, 4u, 2u}) {
    const RoundOutcome outcome = cluster.Round();
    ASSERT_EQ(outcome.steps.size(), steps);
    for (const CommittedStep& committed : outcome.steps) {
      EXPECT_EQ(committed.step, step++);
      EXPECT_EQ(committed.gradient_norm, 0);
      const double loss = plain.Step().loss;
      EXPECT_NEAR(committed.loss, loss, 1e-6 * loss);
    }
    plain.AverageParameters();
    ExpectParametersNear(cluster, plain, 1e-6);
    cluster.CommonHashes();
  }
  EXPECT_EQ(cluster.trainer(0).stats().committed_steps, 10);
}

TEST(TrainerTest, AbsentComponentsTakeNoMemory) {
  const JobSpec spec = SmallJob();
  const ParameterTable table = MakeParameterTable(spec.model);
  InstallMemoryCounter();
  const auto bytes_of = [&](const std::string& row) {
    const Plan plan = PlanFor(spec, table, {row, "1111"});
    const int64_t before = TensorBytes();
    const auto trainer =
        SubnetworkTrainer::Create({spec, table, plan, 0, SmallDataset(9, spec.model.vocab, 1), nullptr});
    EXPECT_TRUE(trainer.ok()) << trainer.status();
    return TensorBytes() - before;
  };
  const int64_t block = table.components[table.ComponentOfColumn(0)].elements;
  const int64_t full = bytes_of("1111");
  EXPECT_EQ(bytes_of("0101"), full - 2 * block * 4 * 4) << "values, gradients and two moments of two blocks";
  EXPECT_EQ(bytes_of("0000"), full - 4 * block * 4 * 4);
}

// Spoils one value of the `at`-th collective of this rank.
class SpoilingMesh : public Mesh {
 public:
  SpoilingMesh(std::unique_ptr<Mesh> mesh, int at) : mesh_(std::move(mesh)), left_(at) {}

  Rank rank() const override { return mesh_->rank(); }
  int world_size() const override { return mesh_->world_size(); }
  absl::StatusOr<std::unique_ptr<Communicator>> Group(std::vector<Rank> ranks, uint32_t id) override {
    auto group = mesh_->Group(std::move(ranks), id);
    if (!group.ok()) return group;
    return std::make_unique<SpoilingGroup>(*std::move(group), left_);
  }
  void Abort(absl::string_view reason) override { mesh_->Abort(reason); }
  ByteCount bytes(Collective collective) const override { return mesh_->bytes(collective); }
  ByteCount bytes_of_group_size(int size) const override { return mesh_->bytes_of_group_size(size); }

 private:
  class SpoilingGroup : public Communicator {
   public:
    SpoilingGroup(std::unique_ptr<Communicator> group, int& left) : group_(std::move(group)), left_(left) {}
    const std::vector<Rank>& ranks() const override { return group_->ranks(); }
    std::unique_ptr<Work> AllReduce(absl::Span<float> data) override {
      if (left_-- == 0) data[data.size() / 2] = std::numeric_limits<float>::quiet_NaN();
      return group_->AllReduce(data);
    }
    std::unique_ptr<Work> AllReduceSmall(absl::Span<double> data) override {
      return group_->AllReduceSmall(data);
    }
    std::unique_ptr<Work> ReduceScatter(absl::Span<float> data) override {
      return group_->ReduceScatter(data);
    }
    std::unique_ptr<Work> AllGather(absl::Span<float> data) override { return group_->AllGather(data); }
    std::unique_ptr<Work> Broadcast(absl::Span<float> data, int root) override {
      return group_->Broadcast(data, root);
    }
    std::unique_ptr<Work> Send(absl::Span<const float> data, int peer) override {
      return group_->Send(data, peer);
    }
    std::unique_ptr<Work> Recv(absl::Span<float> data, int peer) override { return group_->Recv(data, peer); }

   private:
    const std::unique_ptr<Communicator> group_;
    int& left_;
  };

  const std::unique_ptr<Mesh> mesh_;
  int left_;
};

TEST(TrainerTest, AStepThatIsNotFiniteSomewhereIsSkippedByAll) {
  // Rank 1's ninth all-reduce is of some bucket of its second step or later.
  TrainingCluster cluster(SmallJob(), {"1100", "0110", "0011", "1001"}, {},
                          [](std::unique_ptr<Mesh> mesh) -> std::unique_ptr<Mesh> {
                            if (mesh->rank() != 1) return mesh;
                            return std::make_unique<SpoilingMesh>(std::move(mesh), 9);
                          });
  std::vector<uint64_t> before = cluster.CommonHashes();
  int skipped = 0;
  for (int step = 0; step < 12; ++step) {
    const CommittedStep committed = cluster.Round().steps.at(0);
    EXPECT_EQ(committed.step, step);
    EXPECT_TRUE(std::isfinite(committed.loss));
    const std::vector<uint64_t> after = cluster.CommonHashes();
    EXPECT_EQ(after == before, committed.skipped);
    skipped += committed.skipped;
    before = after;
  }
  EXPECT_EQ(skipped, 1);
  EXPECT_EQ(cluster.trainer(3).stats().committed_steps, 12);
}

TEST(TrainerTest, AfterAnOverflowEveryStepIsSkipped) {
  JobSpec spec = SmallJob();
  spec.optimizer.adamw.learning_rate = 1e30;
  spec.optimizer.schedule.warmup_steps = 0;
  TrainingCluster cluster(spec, {"1100", "0110", "1011"});
  EXPECT_FALSE(cluster.Round().steps.at(0).skipped);
  const std::vector<uint64_t> before = cluster.CommonHashes();
  for (int step = 1; step < 4; ++step) EXPECT_TRUE(cluster.Round().steps.at(0).skipped);
  EXPECT_EQ(cluster.CommonHashes(), before);
}

TEST(TrainerTest, LocalStepsThatAreNotFiniteAreLeftOut) {
  JobSpec spec = SmallJob();
  spec.averaging.mode = AveragingMode::kParameters;
  spec.averaging.every_steps = 3;
  spec.optimizer.adamw.learning_rate = 1e30;
  spec.optimizer.schedule.warmup_steps = 0;
  TrainingCluster cluster(spec, {"1100", "0110", "1011"});
  const RoundOutcome outcome = cluster.Round();
  ASSERT_EQ(outcome.steps.size(), 3u);
  EXPECT_FALSE(outcome.steps[0].skipped);
  EXPECT_TRUE(outcome.steps[1].skipped);
  EXPECT_TRUE(outcome.steps[2].skipped);
  cluster.CommonHashes();
  for (const float value : cluster.Parameter(3)) ASSERT_TRUE(std::isfinite(value));
}

TEST(TrainerTest, AnAbortEndsTheRoundWithItsReason) {
  TrainingCluster cluster(SmallJob(), {"1111", "1111"});
  cluster.Round();
  // Rank 1 never takes part, so rank 0 waits.
  const auto ended = cluster.Each<absl::Status>([&](Rank rank) {
    if (rank == 0) return cluster.trainer(0).TrainRound().status();
    while (cluster.trainer(0).stats().phase != StepPhase::kAverageWait) std::this_thread::yield();
    cluster.mesh(0).Abort("worker-1 left");
    return absl::OkStatus();
  });
  EXPECT_EQ(ended[0].code(), absl::StatusCode::kCancelled);
  EXPECT_NE(ended[0].message().find("worker-1 left"), std::string::npos) << ended[0];
  EXPECT_EQ(cluster.trainer(0).stats().committed_steps, 1);
  EXPECT_FALSE(cluster.trainer(0).stats().next_step_ready);
}

TEST(TrainerTest, RefusesABucketThatNobodyTrains) {
  const JobSpec spec = SmallJob();
  const ParameterTable table = MakeParameterTable(spec.model);
  const Plan plan = PlanFor(spec, table, {"1100", "0011"}, {8, 0});
  const auto trainer =
      SubnetworkTrainer::Create({spec, table, plan, 0, SmallDataset(9, spec.model.vocab, 1), nullptr});
  EXPECT_EQ(trainer.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_NE(trainer.status().message().find("holders run no sequences"), std::string::npos);
}

TEST(TrainerTest, StatsSayWhereTimeWent) {
  TrainingCluster cluster(SmallJob(), {"1100", "0111"});
  for (int step = 0; step < 3; ++step) cluster.Round();
  const TrainerStats stats = cluster.trainer(1).stats();
  EXPECT_EQ(stats.committed_steps, 3);
  EXPECT_EQ(stats.phase, StepPhase::kNone);
  EXPECT_GT(stats.phase_seconds.forward, 0);
  EXPECT_GT(stats.phase_seconds.backward, 0);
  EXPECT_GT(stats.phase_seconds.commit, 0);
  EXPECT_GT(stats.phase_seconds.update, 0);
  EXPECT_GT(stats.step_seconds, 0);
  EXPECT_GT(stats.averaging_seconds, 0);
  EXPECT_LE(stats.exposed_averaging_seconds, stats.averaging_seconds);
  EXPECT_GT(stats.peak_tensor_bytes, stats.tensor_bytes);
}

}  // namespace
}  // namespace sdp
