#include "coordinator/planning/check_memory.h"

#include <string>
#include <utility>
#include <vector>

#include "coordinator/planning/make_plan.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace sdp {
namespace {

using ::testing::HasSubstr;

JobSpec Spec(double active_ratio) {
  JobSpec spec;
  spec.model.layers = 8;
  spec.model.hidden = 32;
  spec.model.heads = spec.model.kv_heads = 2;
  spec.model.ffn = 96;
  spec.model.vocab = 100;
  spec.model.seq_len = 16;
  spec.batch.global_sequences = 4;
  spec.masking.active_ratio = active_ratio;
  spec.masking.generator = MaskGenerator::kCyclic;  // the balanced one keeps to budgets by itself
  return spec;
}

absl::StatusOr<Plan> PlanOf(const JobSpec& spec, int64_t memory_of_last) {
  std::vector<PlanMember> members(4);
  for (Rank rank = 0; rank < 4; ++rank) members[rank].worker = WorkerName("w" + std::to_string(rank));
  members[3].profile.memory_budget_bytes = memory_of_last;
  return MakePlan(spec, MakeParameterTable(spec.model), std::move(members), Epoch(1), 0);
}

int64_t Needed(double active_ratio) {
  return PlanOf(Spec(active_ratio), 0)->summary.workers[3].memory.total();
}

TEST(CheckMemoryTest, ThePredictionItselfIsEnough) { EXPECT_TRUE(PlanOf(Spec(0.75), Needed(0.75)).ok()); }

TEST(CheckMemoryTest, RefusesAndSaysWhatWouldFit) {
  const absl::Status status = PlanOf(Spec(1.0), Needed(0.5)).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(status.message()), HasSubstr("worker \"w3\" would need"));
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("too little; it would fit with masking.active_ratio at most 0.5"));
  EXPECT_TRUE(PlanOf(Spec(0.5), Needed(0.5)).ok());  // the advice holds
}

TEST(CheckMemoryTest, SaysWhenNoRatioWouldFit) {
  const absl::Status status = PlanOf(Spec(1.0), 1000).status();
  EXPECT_THAT(std::string(status.message()), HasSubstr("with no masking.active_ratio"));
}

}  // namespace
}  // namespace sdp
