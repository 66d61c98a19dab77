#include "coordinator/planning/plan_costs.h"

#include <string>
#include <vector>

#include "coordinator/planning/make_plan.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace sdp {
namespace {

using ::testing::ElementsAre;

JobSpec Spec() {
  JobSpec spec;
  spec.model.layers = 3;
  spec.model.hidden = 16;
  spec.model.heads = spec.model.kv_heads = 2;
  spec.model.ffn = 24;
  spec.model.vocab = 50;
  spec.model.seq_len = 8;
  spec.batch.global_sequences = 5;
  spec.masking.generator = MaskGenerator::kExplicit;
  spec.masking.matrix = {{true, true, false}, {false, true, true}};
  return spec;
}

// Norms 2 x 16, attention 4 x 256, feed-forward 3 x 384.
constexpr int64_t kBlock = 32 + 4 * 256 + 3 * 384;
constexpr int64_t kShared = 800 + 16 + 800;

Plan PlanOf(const JobSpec& spec) {
  std::vector<PlanMember> members(2);
  members[0].worker = WorkerName("a");
  members[1].worker = WorkerName("b");
  return MakePlan(spec, MakeParameterTable(spec.model), members, Epoch(1), 0).value();
}

TEST(PlanCostsTest, RingBytesIsTheRingMinimum) {
  EXPECT_EQ(RingBytes(100, 1), 0);
  EXPECT_EQ(RingBytes(100, 2), 400);
  EXPECT_EQ(RingBytes(100, 4), 600);
  EXPECT_EQ(RingBytes(1, 3), 6);  // 16/3, rounded up
  EXPECT_EQ(RingBytes(int64_t{1} << 40, 2), int64_t{1} << 42);
  EXPECT_EQ(RingBytes(int64_t{1} << 53, 4096), (int64_t{1} << 56) - (int64_t{1} << 44));
}

TEST(PlanCostsTest, WorkersByHand) {
  const PlanSummary summary = PlanOf(Spec()).summary;
  ASSERT_EQ(summary.workers.size(), 2u);
  for (const WorkerCost& worker : summary.workers) {
    EXPECT_EQ(worker.parameters, kShared + 2 * kBlock);
    // One block of the two is shared with the other worker: 2 (2-1)/2 x 4 bytes of it and of the shared part.
    EXPECT_EQ(worker.bytes_per_step, 4 * (kShared + kBlock));
    EXPECT_EQ(worker.communicators, 1);  // everyone's; the first and last block have one holder
    EXPECT_EQ(worker.memory.moments, 8 * worker.parameters);
  }
  const double block_flops = 6.0 * (kBlock - 32) + 6 * 9 * 16;
  const double flops_per_token = 2 * block_flops + 6.0 * 800;
  EXPECT_DOUBLE_EQ(summary.workers[0].flops_per_step, 3 * 8 * flops_per_token);  // 3 of 5 sequences
  EXPECT_DOUBLE_EQ(summary.workers[1].flops_per_step, 2 * 8 * flops_per_token);
}

TEST(PlanCostsTest, SummaryByHand) {
  const PlanSummary summary = PlanOf(Spec()).summary;
  EXPECT_DOUBLE_EQ(summary.active_ratio, 4.0 / 6);
  EXPECT_NEAR(summary.spectral_gap, 0.5, 1e-12);
  EXPECT_NEAR(summary.spectral_gap_bound, 0.5, 1e-12);
  // W = p [1.5 0.5; 0.5 1.5] + shared / 2: lambda_2 = (1.5 - 0.5) p / P.
  EXPECT_NEAR(summary.spectral_gap_with_shared, 1.0 - double{kBlock} / (2 * kBlock + kShared), 1e-12);
  EXPECT_NEAR(summary.masking_error, 2.0 * (2 * kBlock * 0.5) / (3 * kBlock + kShared), 1e-12);
  EXPECT_EQ(summary.coverage_minimum, 1);
  EXPECT_DOUBLE_EQ(summary.imbalance, 1.0);
  EXPECT_EQ(summary.parameters, kShared + 3 * kBlock);
}

TEST(PlanCostsTest, ImbalanceIsLargestOverMean) {
  JobSpec spec = Spec();
  spec.masking.matrix = {{true, true, true}, {false, false, true}};
  const PlanSummary summary = PlanOf(spec).summary;
  EXPECT_DOUBLE_EQ(summary.imbalance, (kShared + 3.0 * kBlock) / (kShared + 2.0 * kBlock));
  const auto& workers = summary.workers;
  EXPECT_DOUBLE_EQ(summary.compute_imbalance,
                   2 * std::max(workers[0].flops_per_step, workers[1].flops_per_step) /
                       (workers[0].flops_per_step + workers[1].flops_per_step));
  const auto first = static_cast<double>(workers[0].memory.total());
  const auto second = static_cast<double>(workers[1].memory.total());
  EXPECT_GT(first, second);
  EXPECT_DOUBLE_EQ(summary.memory_imbalance, 2 * first / (first + second));
}

TEST(PlanCostsTest, AveragingParametersRarelySendsLess) {
  JobSpec spec = Spec();
  const int64_t every_step = PlanOf(spec).summary.workers[0].bytes_per_step;
  spec.averaging.mode = AveragingMode::kParameters;
  spec.averaging.every_steps = 4;
  EXPECT_EQ(PlanOf(spec).summary.workers[0].bytes_per_step, every_step / 4);
}

TEST(PlanCostsTest, FullOverlapIsDataParallelism) {
  JobSpec spec = Spec();
  spec.masking = MaskingSpec();
  const PlanSummary summary = PlanOf(spec).summary;
  EXPECT_EQ(summary.active_ratio, 1.0);
  EXPECT_EQ(summary.spectral_gap, 1.0);
  EXPECT_EQ(summary.masking_error, 0.0);
  EXPECT_EQ(summary.coverage_minimum, 2);
  EXPECT_EQ(summary.workers[1].parameters, summary.parameters);
  EXPECT_EQ(summary.workers[1].bytes_per_step, 4 * summary.parameters);
}

TEST(PlanCostsTest, MaskableSizesFollowTheColumns) {
  EXPECT_THAT(MaskableSizes(MakeParameterTable(Spec().model)), ElementsAre(kBlock, kBlock, kBlock));
}

}  // namespace
}  // namespace sdp
