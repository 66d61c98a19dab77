#include "coordinator/planning/dry_run.h"

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/model/parameter_table.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace sdp {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

DryRunQuestion Question(int workers, double active_ratio) {
  DryRunQuestion question;
  question.spec.model.layers = 8;
  question.spec.model.hidden = 32;
  question.spec.model.heads = question.spec.model.kv_heads = 2;
  question.spec.model.ffn = 96;
  question.spec.model.vocab = 100;
  question.spec.model.seq_len = 16;
  question.spec.batch.global_sequences = 64;
  question.spec.batch.micro_sequences = 2;
  question.spec.stop_steps = 100;
  question.spec.masking.active_ratio = active_ratio;
  question.members.resize(workers);
  for (int i = 0; i < workers; ++i) question.members[i].worker = WorkerName(absl::StrCat("worker-", i));
  return question;
}

int64_t Largest(const Plan& plan) {
  int64_t largest = 0;
  for (const WorkerCost& cost : plan.summary.workers) largest = std::max(largest, cost.memory.total());
  return largest;
}

int64_t Needed(int workers, double active_ratio) {
  return Largest(PlanDryRun(Question(workers, active_ratio))->plan);
}

TEST(DryRunTest, AnswersNothingThatIsNotAsked) {
  const DryRun run = PlanDryRun(Question(4, 0.5)).value();
  EXPECT_EQ(run.plan.world_size(), 4);
  EXPECT_TRUE(run.fits.empty());
  EXPECT_TRUE(run.compared.empty());
  EXPECT_FALSE(run.schedule.has_value());
  EXPECT_FALSE(run.change.has_value());
}

TEST(DryRunTest, FindsTheLargestRatioThatFits) {
  DryRunQuestion question = Question(4, 1);
  question.fit_memory_bytes = Needed(4, 0.5);
  const DryRun run = PlanDryRun(question).value();
  EXPECT_DOUBLE_EQ(run.plan.summary.active_ratio, 0.5);
  EXPECT_LE(Largest(run.plan), question.fit_memory_bytes);
  ASSERT_EQ(run.fits.size(), 3u);  // 1, 0.75, 0.5
  EXPECT_EQ(run.fits[0].active_ratio, 1);
  EXPECT_EQ(run.fits[0].peak_memory_bytes, Needed(4, 1));
  EXPECT_THAT(run.fits[0].reason, HasSubstr("too little"));
  EXPECT_THAT(run.fits[1].reason, HasSubstr("masking.active_ratio 0.75"));
  EXPECT_EQ(run.fits[2].reason, "");
}

// Above 16 workers by bisection: the same as trying one by one.
TEST(DryRunTest, FindsItAmongManyWorkers) {
  DryRunQuestion question = Question(20, 1);
  question.spec.model.layers = 20;
  question.spec.masking.active_ratio = 7.0 / 20;
  const int64_t needed = Largest(PlanDryRun(question)->plan);
  question.fit_memory_bytes = needed;
  const DryRun run = PlanDryRun(question).value();
  EXPECT_DOUBLE_EQ(run.plan.summary.active_ratio, 7.0 / 20);
  EXPECT_LT(run.fits.size(), 8u);
  EXPECT_TRUE(std::is_sorted(run.fits.begin(), run.fits.end(), [](const RatioFit& a, const RatioFit& b) {
    return a.active_ratio > b.active_ratio;
  }));
}

TEST(DryRunTest, SaysWhatWouldFitWhenNothingDoes) {
  DryRunQuestion question = Question(4, 1);
  question.fit_memory_bytes = 1000;
  const absl::Status status = PlanDryRun(question).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("no masking.active_ratio of whole holders (k / workers) fits into 1000 B"));
  EXPECT_THAT(std::string(status.message()), HasSubstr("the least that does is"));
}

TEST(DryRunTest, OnlyGeneratorsWithARatioCanFit) {
  DryRunQuestion question = Question(4, 1);
  question.spec.masking.generator = MaskGenerator::kFull;
  question.fit_memory_bytes = 1 << 30;
  EXPECT_EQ(PlanDryRun(question).status().code(), absl::StatusCode::kInvalidArgument);
}

TEST(DryRunTest, ComparesGenerators) {
  DryRunQuestion question = Question(8, 0.5);
  question.compare = {MaskGenerator::kFull, MaskGenerator::kRandom, MaskGenerator::kExplicit};
  const DryRun run = PlanDryRun(question).value();
  ASSERT_EQ(run.compared.size(), 3u);
  EXPECT_EQ(run.compared[0].plan->summary.spectral_gap, 1);
  EXPECT_EQ(run.compared[0].plan->summary.active_ratio, 1);
  EXPECT_LT(run.compared[1].plan->summary.spectral_gap, run.plan.summary.spectral_gap);
  EXPECT_DOUBLE_EQ(run.compared[1].plan->summary.active_ratio, 0.5);
  EXPECT_FALSE(run.compared[2].plan.has_value());
  EXPECT_THAT(run.compared[2].reason, HasSubstr("no masking.matrix"));
}

TEST(DryRunTest, PlansASchedule) {
  DryRunQuestion question = Question(4, 0.5);
  question.redraw_every_steps = 30;
  const DryRun run = PlanDryRun(question).value();
  ASSERT_EQ(run.schedule->entries.size(), 4u);
  EXPECT_EQ(run.total_schedule_entries, 4);
  EXPECT_TRUE(run.schedule->entries[0].mask == run.plan.mask);
  EXPECT_EQ(run.schedule->entries[3].from_step, 90);
}

TEST(DryRunTest, PlansAChange) {
  DryRunQuestion question = Question(8, 0.5);
  for (const int workers : {7, 9}) {
    question.change_to_workers = workers;
    const DryRun run = PlanDryRun(question).value();
    EXPECT_EQ(run.change->plan.world_size(), workers);
    EXPECT_LE(run.change->moved_bytes, 1.2 * run.change->moved_bytes_lower_bound);
    EXPECT_GE(run.change->plan.summary.spectral_gap, 0.97 * run.change->fresh_gap);
  }
}

TEST(DryRunTest, SaysWhetherThePlanOrItsChangeIsImpossible) {
  DryRunQuestion question = Question(4, 0.5);
  question.change_to_workers = question.spec.batch.global_sequences + 1;
  const std::string wanted = absl::StrCat(question.change_to_workers, " workers");
  EXPECT_THAT(std::string(PlanDryRun(question).status().message()),
              StartsWith("no change to " + wanted + " is possible: batch.global_sequences is"));
  question.spec.batch.global_sequences = 3;
  EXPECT_THAT(std::string(PlanDryRun(question).status().message()),
              StartsWith("no plan is possible for 4 workers: batch.global_sequences is 3"));
}

TEST(DryRunTest, PredictsTimesOfEveryPlan) {
  DryRunQuestion question = Question(4, 0.5);
  question.compare = {MaskGenerator::kFull};
  question.change_to_workers = 3;
  question.device.flops_per_second = 1e9;
  const DryRun run = PlanDryRun(question).value();
  EXPECT_GT(run.plan.summary.step_seconds_longest, 0);
  EXPECT_GT(run.compared[0].plan->summary.step_seconds_longest, run.plan.summary.step_seconds_longest);
  EXPECT_GT(run.change->plan.summary.step_seconds_longest, run.plan.summary.step_seconds_longest);
}

}  // namespace
}  // namespace sdp
