#include "coordinator/planning/job_problem.h"

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/base/random.h"
#include "coordinator/planning/make_plan.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "rapidcheck/gtest.h"

namespace sdp {
namespace {

using ::testing::HasSubstr;

JobSpec Spec(double active_ratio) {
  JobSpec spec;
  spec.model.layers = 12;
  spec.model.hidden = 32;
  spec.model.heads = spec.model.kv_heads = 2;
  spec.model.ffn = 96;
  spec.model.vocab = 100;
  spec.model.seq_len = 16;
  spec.batch.global_sequences = 64;
  spec.batch.micro_sequences = 2;
  spec.masking.active_ratio = active_ratio;
  return spec;
}

std::vector<PlanMember> Members(int count) {
  std::vector<PlanMember> members(count);
  for (int i = 0; i < count; ++i) {
    members[i].worker = WorkerName(absl::StrCat("w", i));
    members[i].incarnation = Incarnation(i + 1);
  }
  return members;
}

absl::StatusOr<Plan> Make(const JobSpec& spec, const std::vector<PlanMember>& members,
                          const Plan* previous = nullptr) {
  return MakePlan(spec, MakeParameterTable(spec.model), members, Epoch(1), 0, previous);
}

// What a worker needs that holds `blocks` blocks of the job on 4 workers.
int64_t MemoryOf(double active_ratio) {
  return Make(Spec(active_ratio), Members(4))->summary.workers[0].memory.total();
}

TEST(JobProblemTest, TheSpecGoesBeforeWhatWorkersDeclare) {
  std::vector<PlanMember> members = Members(3);
  members[0].profile.memory_budget_bytes = 100;
  members[1].profile.relative_speed = 3;
  WorkersSpec spec;
  spec.memory_budget_bytes = 80;
  spec.profiles = {{"w0", 0, 2}, {"w1", 70, 0}, {"w2", 90, 0}, {"stranger", 1, 1}};
  ApplyProfiles(spec, members);
  EXPECT_EQ(members[0].profile.memory_budget_bytes, 80);
  EXPECT_EQ(members[0].profile.relative_speed, 2);
  EXPECT_EQ(members[1].profile.memory_budget_bytes, 70);
  EXPECT_EQ(members[1].profile.relative_speed, 3);
  EXPECT_EQ(members[2].profile.memory_budget_bytes, 80);
}

TEST(JobProblemTest, LargerWorkersHoldMore) {
  std::vector<PlanMember> members = Members(4);
  for (int i = 0; i < 4; ++i) members[i].profile.memory_budget_bytes = MemoryOf(i < 2 ? 1 : 0.5);
  const Plan plan = Make(Spec(0.75), members).value();
  for (Rank i = 0; i < 4; ++i) {
    EXPECT_LE(plan.summary.workers[i].memory.total(), members[i].profile.memory_budget_bytes);
  }
  EXPECT_GE(plan.mask.Held(0), 10);
  EXPECT_LE(plan.mask.Held(3), 6 + 2);
  EXPECT_EQ(plan.summary.coverage_minimum, 3);
  // Who holds less computes more samples.
  EXPECT_GT(plan.members[3].sequences, plan.members[0].sequences);
  EXPECT_LT(plan.summary.compute_imbalance, 1.1);
}

TEST(JobProblemTest, FasterWorkersGetMoreSamples) {
  std::vector<PlanMember> members = Members(4);
  members[2].profile.relative_speed = 2;
  const Plan plan = Make(Spec(0.5), members).value();
  EXPECT_EQ(plan.members[2].sequences, 26);  // of 64: 2 of 5 parts, rounded
  EXPECT_LT(plan.summary.compute_imbalance, 1.05);
  EXPECT_THAT(plan.summary.reasons, ::testing::Contains(HasSubstr("differ in load or speed")));
}

TEST(JobProblemTest, FewSamplesLetSpeedDecideWhoHoldsWhat) {
  JobSpec spec = Spec(0.5);
  spec.batch.global_sequences = 4;
  std::vector<PlanMember> members = Members(4);
  members[1].profile.relative_speed = 2;
  const Plan plan = Make(spec, members).value();
  EXPECT_GT(plan.mask.Held(1), plan.mask.Held(0) + 2);
}

TEST(JobProblemTest, RefusesWithWhatWouldFit) {
  std::vector<PlanMember> members = Members(4);
  for (PlanMember& member : members) member.profile.memory_budget_bytes = MemoryOf(0.5);
  const absl::Status status = Make(Spec(0.75), members).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(status.message()), HasSubstr("masking.active_ratio 0.75 needs"));
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("2 holders for each component (masking.active_ratio 0.5)"));
  EXPECT_THAT(std::string(status.message()), HasSubstr("on every worker it would fit"));
}

TEST(JobProblemTest, RefusesAWorkerWithRoomForNothing) {
  std::vector<PlanMember> members = Members(4);
  members[2].profile.memory_budget_bytes = 100'000;
  const absl::Status status = Make(Spec(0.75), members).status();
  EXPECT_THAT(std::string(status.message()), HasSubstr("worker w2 has a memory budget of 97.7 KiB"));
  EXPECT_THAT(std::string(status.message()), HasSubstr("it is short by"));
}

TEST(JobProblemTest, ARestartedWorkerHoldsNothing) {
  const JobSpec spec = Spec(0.5);
  const Plan before = Make(spec, Members(4)).value();
  std::vector<PlanMember> members = Members(4);
  EXPECT_TRUE(Make(spec, members, &before)->mask == before.mask);
  members[1].incarnation = Incarnation(99);
  const MaskProblem problem = JobMaskProblem(spec, MakeParameterTable(spec.model), before, before);
  EXPECT_EQ(problem.workers[1].previous, 1);
  Plan restarted = before;
  restarted.members = members;
  EXPECT_EQ(JobMaskProblem(spec, MakeParameterTable(spec.model), restarted, before).workers[1].previous, -1);
}

// Uniform in [begin, end) from the first case on.
int Between(int begin, int end, const char* what) {
  return *rc::gen::resize(rc::kNominalSize, rc::gen::inRange(begin, end)).as(what);
}

struct RandomJob {
  JobSpec spec;
  std::vector<PlanMember> members;
};

RandomJob AnyJob() {
  RandomJob job;
  job.spec = Spec(Between(10, 101, "ratio in percent") / 100.0);
  job.spec.model.layers = Between(1, 13, "layers");
  job.spec.batch.global_sequences = Between(1, 80, "sequences");
  job.spec.batch.micro_sequences = Between(0, 2, "micro-batches") * Between(1, 5, "micro-batch");
  job.spec.masking.generator = *rc::gen::element(MaskGenerator::kBalanced, MaskGenerator::kRandom,
                                                 MaskGenerator::kCyclic, MaskGenerator::kFull);
  job.spec.masking.seed = *rc::gen::arbitrary<uint64_t>();
  job.members = Members(Between(1, 7, "workers"));
  for (PlanMember& member : job.members) {
    if (Between(0, 3, "no budget") != 0) {
      member.profile.memory_budget_bytes = Between(300, 9000, "budget in KB") * 1000;
    }
    member.profile.relative_speed = Between(1, 5, "speed");
  }
  return job;
}

RC_GTEST_PROP(JobProblemPropertyTest, GivesAPlanWithinAllBudgetsOrAReason, ()) {
  const RandomJob job = AnyJob();
  const absl::StatusOr<Plan> plan = Make(job.spec, job.members);
  RC_CLASSIFY(!plan.ok(), "refused");
  if (!plan.ok()) {
    RC_ASSERT(plan.status().code() == absl::StatusCode::kFailedPrecondition);
    RC_ASSERT(!plan.status().message().empty());
    return;
  }
  RC_ASSERT(CheckPlan(*plan, MakeParameterTable(job.spec.model), job.spec.batch.global_sequences) ==
            absl::OkStatus());
  for (Rank rank = 0; rank < plan->world_size(); ++rank) {
    const int64_t budget = job.members[rank].profile.memory_budget_bytes;
    RC_ASSERT(budget == 0 || plan->summary.workers[rank].memory.total() <= budget);
  }
}

RC_GTEST_PROP(JobProblemPropertyTest, PermutingWorkersPermutesTheMask, ()) {
  const RandomJob job = AnyJob();
  std::vector<PlanMember> shuffled = job.members;
  Random random(*rc::gen::arbitrary<uint64_t>());
  random.Shuffle(shuffled);
  const absl::StatusOr<Plan> plan = Make(job.spec, job.members);
  const absl::StatusOr<Plan> other = Make(job.spec, shuffled);
  RC_ASSERT(plan.ok() == other.ok());
  if (!plan.ok()) return;
  std::map<WorkerName, std::string> rows;
  for (Rank rank = 0; rank < plan->world_size(); ++rank) {
    rows[plan->members[rank].worker] = plan->mask.Rows()[rank];
  }
  for (Rank rank = 0; rank < other->world_size(); ++rank) {
    RC_ASSERT(other->mask.Rows()[rank] == rows[other->members[rank].worker]);
  }
}

}  // namespace
}  // namespace sdp
