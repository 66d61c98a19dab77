#include "coordinator/planning/make_plan.h"

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/base/quantities.h"
#include "coordinator/planning/bucketing.h"
#include "coordinator/planning/masks/balanced_mask.h"
#include "coordinator/planning/spectrum/mask_graph.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "rapidcheck/gtest.h"

namespace sdp {
namespace {

using ::testing::HasSubstr;

JobSpec Spec(int layers, int hidden) {
  JobSpec spec;
  spec.model.layers = layers;
  spec.model.hidden = hidden;
  spec.model.heads = spec.model.kv_heads = 2;
  spec.model.ffn = hidden * 2;
  spec.model.vocab = 100;
  spec.model.seq_len = 8;
  spec.batch.global_sequences = 10;
  return spec;
}

std::vector<PlanMember> Members(int count) {
  std::vector<PlanMember> members(count);
  for (int i = 0; i < count; ++i) {
    members[i].worker = WorkerName(absl::StrCat("worker-", i));
    members[i].incarnation = Incarnation(100 + i);
    members[i].data_plane_address = absl::StrCat("host:", i);
  }
  return members;
}

absl::StatusOr<Plan> Make(const JobSpec& spec, int workers) {
  return MakePlan(spec, MakeParameterTable(spec.model), Members(workers), Epoch(3), 40);
}

TEST(MakePlanTest, FillsEverything) {
  JobSpec spec = Spec(8, 16);
  spec.masking.active_ratio = 0.5;
  const absl::StatusOr<Plan> plan = Make(spec, 4);
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_EQ(CheckPlan(*plan, MakeParameterTable(spec.model), 10), absl::OkStatus());
  EXPECT_EQ(plan->epoch, Epoch(3));
  EXPECT_EQ(plan->first_step, 40);
  EXPECT_EQ(plan->members[2].worker, WorkerName("worker-2"));
  EXPECT_EQ(plan->members[2].incarnation, Incarnation(102));
  EXPECT_EQ(plan->members[2].data_plane_address, "host:2");
  EXPECT_EQ(plan->digest, PlanDigest(*plan));
  EXPECT_DOUBLE_EQ(plan->summary.active_ratio, 0.5);
  EXPECT_EQ(plan->summary.coverage_minimum, 2);
  EXPECT_NEAR(plan->summary.spectral_gap, 0.5, 1e-9);
}

TEST(MakePlanTest, SplitsSequencesWithTheRemainderFirst) {
  const Plan plan = Make(Spec(2, 16), 4).value();
  std::vector<int> firsts, counts;
  for (const PlanMember& member : plan.members) {
    firsts.push_back(member.first_sequence);
    counts.push_back(member.sequences);
  }
  EXPECT_THAT(firsts, ::testing::ElementsAre(0, 3, 6, 8));
  EXPECT_THAT(counts, ::testing::ElementsAre(3, 3, 2, 2));
}

TEST(MakePlanTest, OneWorkerHoldsAll) {
  const absl::StatusOr<Plan> plan = Make(Spec(3, 16), 1);
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_EQ(CheckPlan(*plan, MakeParameterTable(Spec(3, 16).model), 10), absl::OkStatus());
  EXPECT_EQ(plan->holder_sets.size(), 1u);
  EXPECT_EQ(plan->summary.workers[0].bytes_per_step, 0);
  EXPECT_EQ(plan->summary.spectral_gap, 1.0);
  EXPECT_EQ(plan->summary.masking_error, 0.0);
}

void ExpectRefused(const absl::StatusOr<Plan>& plan, const std::string& complaint) {
  EXPECT_EQ(plan.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(plan.status().message()), HasSubstr(complaint));
}

TEST(MakePlanTest, RefusesWithAReason) {
  ExpectRefused(Make(Spec(2, 16), 0), "at least one worker");
  ExpectRefused(Make(Spec(2, 16), 11), "batch.global_sequences is 10, but there are 11 workers");
  JobSpec sparse = Spec(8, 16);
  sparse.masking.active_ratio = 0.2;
  ExpectRefused(Make(sparse, 4), "smallest active_ratio");
  std::vector<PlanMember> twins = Members(2);
  twins[1].worker = twins[0].worker;
  const JobSpec spec = Spec(2, 16);
  ExpectRefused(MakePlan(spec, MakeParameterTable(spec.model), twins, Epoch(1), 0),
                "\"worker-0\" is a member twice");
}

TEST(MakePlanTest, SeedsGiveDifferentMasksOfTheSameQuality) {
  JobSpec spec = Spec(8, 16);
  spec.masking.active_ratio = 0.5;
  const Plan first = Make(spec, 4).value();
  spec.masking.seed = 1;
  const Plan second = Make(spec, 4).value();
  EXPECT_FALSE(first.mask == second.mask);
  EXPECT_NEAR(first.summary.spectral_gap, second.summary.spectral_gap, 1e-9);
}

// Uniform in [begin, end), from the first case on: rapidcheck would begin with small values only.
rc::Gen<int> Between(int begin, int end) {
  return rc::gen::resize(rc::kNominalSize, rc::gen::inRange(begin, end));
}

struct RandomJob {
  JobSpec spec;
  int workers = 0;
};

// A job of up to 6 workers and 8 blocks, with buckets smaller than a component or larger; often impossible.
RandomJob AnyJob() {
  RandomJob job;
  const bool large = *rc::gen::arbitrary<bool>().as("large blocks");
  job.spec = Spec(*Between(1, 9).as("layers"), large ? 1024 : 16);
  job.spec.model.tied_embeddings = *rc::gen::arbitrary<bool>().as("tied embeddings");
  job.spec.batch.global_sequences = *Between(1, 40).as("global sequences");
  job.spec.masking.active_ratio = *Between(1, 101).as("active ratio in percent") / 100.0;
  job.spec.masking.seed = *rc::gen::arbitrary<uint64_t>().as("seed");
  job.workers = *Between(0, 7).as("workers");
  return job;
}

// The same, always possible.
RandomJob PossibleJob() {
  RandomJob job = AnyJob();
  job.workers = std::max(job.workers, 1);
  job.spec.batch.global_sequences += job.workers;
  job.spec.masking.active_ratio =
      std::max(job.spec.masking.active_ratio, MinimumActiveRatio(job.workers, job.spec.model.layers));
  return job;
}

RC_GTEST_PROP(MakePlanPropertyTest, GivesAPlanThatChecksOutOrAReason, ()) {
  const RandomJob job = AnyJob();
  const ParameterTable table = MakeParameterTable(job.spec.model);
  const absl::StatusOr<Plan> plan = Make(job.spec, job.workers);
  if (!plan.ok()) {
    RC_ASSERT(plan.status().code() == absl::StatusCode::kFailedPrecondition);
    RC_ASSERT(!plan.status().message().empty());
    RC_CLASSIFY(true, "refused");
    return;
  }
  RC_ASSERT(CheckPlan(*plan, table, job.spec.batch.global_sequences) == absl::OkStatus());
  RC_ASSERT(ConnectedParts(plan->mask).size() == 1u);
  RC_ASSERT(plan->summary.spectral_gap > 0);
  RC_ASSERT(plan->summary.spectral_gap <= plan->summary.spectral_gap_bound + 1e-9);
  RC_ASSERT(plan->summary.coverage_minimum >= 1);
}

RC_GTEST_PROP(MakePlanPropertyTest, SameInputGivesTheSameDigest, ()) {
  const RandomJob job = PossibleJob();
  const absl::StatusOr<Plan> plan = Make(job.spec, job.workers);
  RC_ASSERT(plan.ok());
  RC_ASSERT(Make(job.spec, job.workers)->digest == plan->digest);
}

RC_GTEST_PROP(MakePlanPropertyTest, BucketsFollowBackwardAndStayWithinTheLimit, ()) {
  const RandomJob job = PossibleJob();
  const ParameterTable table = MakeParameterTable(job.spec.model);
  const absl::StatusOr<Plan> plan = Make(job.spec, job.workers);
  RC_ASSERT(plan.ok());
  int next_slice = static_cast<int>(table.slices.size()) - 1;
  for (const Bucket& bucket : plan->buckets) {
    RC_ASSERT(bucket.elements * 4 <= BucketBytes(table) || bucket.slices.size() == 1u);
    const bool shared = table.components[table.slices[bucket.slices[0]].component].shared();
    for (int slice : bucket.slices) {
      RC_ASSERT(slice == next_slice--);
      RC_ASSERT(table.components[table.slices[slice].component].shared() == shared);
    }
  }
  RC_ASSERT(next_slice == -1);
}

// Blocks and sequences do not come out even: who holds more blocks gets fewer sequences, which a budget
// allows for. What is advised is what suffices.
TEST(MakePlanTest, TheBudgetThatIsSaidToFitFits) {
  for (const auto& [workers, layers, holders, sequences] :
       {std::array<int, 4>{8, 12, 3, 64}, {5, 7, 3, 33}, {4, 8, 2, 32}, {6, 4, 3, 13}}) {
    JobSpec spec = Spec(layers, 16);
    spec.masking.active_ratio = static_cast<double>(holders) / workers;
    spec.batch.global_sequences = sequences;
    int64_t largest = 0;
    const Plan unlimited = Make(spec, workers).value();
    for (const WorkerCost& cost : unlimited.summary.workers) {
      largest = std::max(largest, cost.memory.total());
    }
    spec.workers.memory_budget_bytes = largest;
    const absl::StatusOr<Plan> plan = Make(spec, workers);
    ASSERT_TRUE(plan.ok()) << plan.status();
    EXPECT_EQ(CheckPlan(*plan, MakeParameterTable(spec.model), sequences), absl::OkStatus());
    for (const WorkerCost& cost : plan->summary.workers) {
      EXPECT_EQ(cost.memory_budget_bytes, largest);
      EXPECT_LE(cost.memory.total(), largest);
    }
    spec.workers.memory_budget_bytes = 1;
    EXPECT_THAT(std::string(Make(spec, workers).status().message()),
                HasSubstr(absl::StrCat("with ", FormatBytesUp(static_cast<double>(largest)),
                                       " on every worker it would fit")));
  }
}

}  // namespace
}  // namespace sdp
