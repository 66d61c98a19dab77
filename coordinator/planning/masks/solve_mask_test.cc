#include <algorithm>
#include <string>
#include <vector>

#include "coordinator/planning/masks/balanced_mask.h"
#include "coordinator/planning/masks/depth_order.h"
#include "coordinator/planning/masks/mask_loads.h"
#include "coordinator/planning/masks/mask_problem.h"
#include "coordinator/planning/masks/test_problems.h"
#include "coordinator/planning/search/load_balance.h"
#include "coordinator/planning/spectrum/mask_graph.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace sdp {
namespace {

using ::testing::HasSubstr;

MaskProblem ProblemOfSizes(int workers, const std::vector<double>& sizes, int holders) {
  MaskProblem problem = EqualProblem(workers, static_cast<int>(sizes.size()), holders);
  for (size_t b = 0; b < sizes.size(); ++b) problem.components[b].size = sizes[b];
  return problem;
}

void SetBudgets(MaskProblem& problem, const std::vector<int64_t>& bytes) {
  for (size_t i = 0; i < bytes.size(); ++i) problem.workers[i].profile.memory_budget_bytes = bytes[i];
}

TEST(SolveMaskTest, EqualProblemsGiveTheBalancedMask) {
  const MaskSolution solution = SolveMask(EqualProblem(4, 8, 2)).value();
  const Mask balanced = BalancedMask(4, std::vector<double>(8, 1.0), 16, 0);
  EXPECT_TRUE(solution.mask == SpreadOverDepth(balanced, std::vector<int>(8, 0)));
  EXPECT_NEAR(solution.gap, 0.5, 1e-9);
  EXPECT_NEAR(solution.gap_bound, 2.0 / 3, 1e-9);
  EXPECT_EQ(solution.coverage_minimum, 2);
  EXPECT_NEAR(solution.memory_imbalance, 1.0, 1e-12);
  EXPECT_FALSE(solution.reasons.empty());
}

TEST(SolveMaskTest, SharedComponentsCount) {
  MaskProblem problem = EqualProblem(4, 8, 2);
  problem.shared_size = 8;
  problem.shared_memory_bytes = 1000;
  const MaskSolution solution = SolveMask(problem).value();
  EXPECT_GT(solution.gap_with_shared, solution.gap);
  EXPECT_NEAR(solution.masking_error, MaskingError(solution.mask, std::vector<double>(8, 1.0), 8), 1e-12);
  EXPECT_EQ(solution.memory_bytes[0], 1000 + 4 * kHeldBytesPerParameter);
}

TEST(SolveMaskTest, GeneratorsShareOneFront) {
  MaskProblem problem = EqualProblem(8, 16, 3);
  for (MaskGenerator generator : {MaskGenerator::kBalanced, MaskGenerator::kRandom, MaskGenerator::kCyclic}) {
    problem.generator = generator;
    const MaskSolution solution = SolveMask(problem).value();
    EXPECT_EQ(solution.coverage_minimum, 3);
    EXPECT_GT(solution.gap, 0);
  }
  problem.generator = MaskGenerator::kFull;
  EXPECT_EQ(SolveMask(problem)->gap, 1.0);
}

TEST(SolveMaskTest, BalancedBeatsRandomAndCyclic) {
  MaskProblem problem = EqualProblem(8, 16, 3);
  const double balanced = SolveMask(problem)->gap;
  problem.generator = MaskGenerator::kCyclic;
  EXPECT_GT(balanced, SolveMask(problem)->gap + 0.1);
  problem.generator = MaskGenerator::kRandom;
  for (problem.seed = 0; problem.seed < 20; ++problem.seed) EXPECT_GT(balanced, SolveMask(problem)->gap);
}

TEST(SolveMaskTest, ResNetAndHeavyHeadsBalanceWhereThatIsPossible) {
  int possible = 0;
  for (const std::vector<double>& sizes : {ResNet18Blocks(), LlamaWithHeavyHead()}) {
    for (int workers = 2; workers <= 8; ++workers) {
      for (int holders = 2; holders < workers; ++holders) {
        SCOPED_TRACE(testing::Message() << sizes.size() << " components, " << workers << ", " << holders);
        const MaskProblem problem = ProblemOfSizes(workers, sizes, holders);
        const absl::StatusOr<MaskSolution> solution = SolveMask(problem);
        ASSERT_TRUE(solution.ok()) << solution.status();
        for (int b = 0; b < solution->mask.columns(); ++b) {
          EXPECT_EQ(static_cast<int>(solution->mask.Holders(b).size()), holders);
        }
        Mask found;
        const LoadProblem loads = LoadProblemOf(LoadsOf(problem), HolderCounts(problem));
        if (BranchAndBound(loads, 1.05, 30'000, &found) != SearchOutcome::kFound) continue;
        ++possible;
        EXPECT_LT(solution->memory_imbalance, 1.05);
        EXPECT_GT(solution->gap, 0);
      }
    }
  }
  EXPECT_GT(possible, 10);
}

TEST(SolveMaskTest, LargerWorkersHoldMoreWithinTheirBudgets) {
  MaskProblem problem = EqualProblem(8, 32, 3);
  for (MaskComponent& component : problem.components) component.memory_bytes = 1000;
  problem.shared_memory_bytes = 2000;
  SetBudgets(problem, {20'000, 20'000, 20'000, 20'000, 10'000, 10'000, 10'000, 10'000});
  const MaskSolution solution = SolveMask(problem).value();
  EXPECT_EQ(solution.coverage_minimum, 3);
  for (Rank i = 0; i < 8; ++i) {
    EXPECT_LE(solution.memory_bytes[i], problem.workers[i].profile.memory_budget_bytes);
  }
  // 96 holdings in proportion to 18 and 8: 16.6 and 7.4.
  for (Rank i = 0; i < 4; ++i) EXPECT_NEAR(solution.mask.Held(i), 16.6, 1.0);
  for (Rank i = 4; i < 8; ++i) EXPECT_NEAR(solution.mask.Held(i), 7.4, 1.0);
}

TEST(SolveMaskTest, WithEqualSamplesFasterWorkersHoldMore) {
  MaskProblem problem = EqualProblem(4, 24, 2);
  problem.equal_samples = true;
  problem.workers[1].profile.relative_speed = 2;
  const MaskSolution solution = SolveMask(problem).value();
  // 48 holdings in the ratio 1:2:1:1; time is equal for all then.
  EXPECT_NEAR(solution.mask.Held(1), 19.2, 1.3);
  for (Rank i : {0, 2, 3}) EXPECT_NEAR(solution.mask.Held(i), 9.6, 1.0);
}

TEST(SolveMaskTest, BudgetsHoldWithEqualSamplesToo) {
  MaskProblem problem = EqualProblem(4, 8, 2);
  for (MaskComponent& component : problem.components) component.memory_bytes = 100;
  problem.equal_samples = true;
  SetBudgets(problem, {500, 500, 500, 300});
  const MaskSolution solution = SolveMask(problem).value();
  for (Rank i = 0; i < 4; ++i) {
    EXPECT_LE(solution.memory_bytes[i], problem.workers[i].profile.memory_budget_bytes);
  }
}

TEST(SolveMaskTest, SharesOfSizeForRatiosBetweenWholeHolders) {
  MaskProblem problem = ProblemOfSizes(8, LlamaWithHeavyHead(), 0);
  problem.active_ratio = 0.69;
  const MaskSolution solution = SolveMask(problem).value();
  double held = 0, all = 0;
  for (int b = 0; b < 17; ++b) {
    held += problem.components[b].size * solution.mask.Holders(b).size();
    all += problem.components[b].size;
    EXPECT_GE(solution.mask.Holders(b).size(), 5u);
    EXPECT_LE(solution.mask.Holders(b).size(), 6u);
  }
  EXPECT_NEAR(held / (8 * all), 0.69, 0.01);
  EXPECT_LT(solution.memory_imbalance, 1.05);
}

// Four transformer blocks as layers of 16 groups of neurons and 4 of heads, which are larger.
MaskProblem NeuronGroups(int workers, int holders) {
  MaskProblem problem = EqualProblem(workers, 0, holders);
  for (int layer = 0; layer < 8; ++layer) {
    for (int i = 0; i < (layer % 2 == 0 ? 16 : 4); ++i) {
      MaskComponent& component = problem.components.emplace_back();
      component.layer = layer;
      component.size = layer % 2 == 0 ? 1 : 2;
    }
  }
  return problem;
}

TEST(SolveMaskTest, EveryWorkerHoldsItsShareOfEveryLayerInFewHolderSets) {
  for (int holders : {2, 3, 4, 6}) {
    const MaskProblem problem = NeuronGroups(8, holders);
    const MaskSolution solution = SolveMask(problem).value();
    EXPECT_LE(solution.holder_sets, 8);
    EXPECT_EQ(solution.coverage_minimum, holders);
    EXPECT_NEAR(solution.memory_imbalance, 1.0, 1e-9);
    // As good as a mask of as many components as there are sets.
    EXPECT_GE(solution.gap, SolveMask(EqualProblem(8, 8, holders))->gap - 1e-9);
    for (Rank rank = 0; rank < 8; ++rank) {
      std::vector<int> held(8, 0);
      for (size_t b = 0; b < problem.components.size(); ++b) {
        held[problem.components[b].layer] += solution.mask.holds(rank, static_cast<int>(b)) ? 1 : 0;
      }
      for (int layer = 0; layer < 8; layer += 2) EXPECT_EQ(held[layer], 2 * holders) << "rank " << rank;
      // Four groups of heads are fewer than sets: two layers together have one of each.
      for (int layer : {1, 5}) EXPECT_EQ(held[layer] + held[layer + 2], holders) << "rank " << rank;
    }
  }
}

TEST(SolveMaskTest, SlicesKeepToTheWishedNumberOfHolderSets) {
  MaskProblem problem = NeuronGroups(8, 4);
  problem.max_holder_sets = 16;
  const MaskSolution solution = SolveMask(problem).value();
  EXPECT_LE(solution.holder_sets, 16);
  EXPECT_GT(solution.gap, 0.8);
}

TEST(SolveMaskTest, HolderSetsStayWithinTheirNumber) {
  MaskProblem problem = EqualProblem(8, 512, 4);
  problem.max_holder_sets = 16;
  const MaskSolution solution = SolveMask(problem).value();
  EXPECT_LE(solution.holder_sets, 16);
  EXPECT_EQ(solution.coverage_minimum, 4);
  EXPECT_GT(solution.gap, 0.8);
  EXPECT_LT(solution.memory_imbalance, 1.05);
}

TEST(SolveMaskTest, RefusesTooFewHolderSets) {
  MaskProblem problem = EqualProblem(16, 64, 2);
  problem.max_holder_sets = 4;
  const absl::Status status = SolveMask(problem).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("with at most 4 holder sets (masking.max_holder_sets)"));
  problem.generator = MaskGenerator::kRandom;
  EXPECT_THAT(std::string(SolveMask(problem).status().message()), HasSubstr("different holder sets"));
}

void ExpectRefused(const MaskProblem& problem, const std::vector<std::string>& complaints) {
  const absl::StatusOr<MaskSolution> solution = SolveMask(problem);
  EXPECT_EQ(solution.status().code(), absl::StatusCode::kFailedPrecondition);
  for (const std::string& complaint : complaints) {
    EXPECT_THAT(std::string(solution.status().message()), HasSubstr(complaint));
  }
}

TEST(SolveMaskTest, RefusesMoreWorkersThanTheModelCanUse) {
  ExpectRefused(EqualProblem(12, 4, 3), {"12 holdings", "at most 9 workers can use it"});
  EXPECT_TRUE(SolveMask(EqualProblem(9, 4, 3)).ok());
}

TEST(SolveMaskTest, RefusesABudgetThatFitsNothing) {
  MaskProblem problem = EqualProblem(3, 6, 2);
  for (MaskComponent& component : problem.components) component.memory_bytes = 700;
  problem.shared_memory_bytes = 500;
  problem.workers[1].name = "small";
  SetBudgets(problem, {10'000, 1000, 10'000});
  ExpectRefused(problem,
                {"worker small has a memory budget of 1000 B", "short by 200 B", "at least 1.18 KiB"});
}

TEST(SolveMaskTest, RefusesAComponentWithRoomOnTooFewWorkers) {
  MaskProblem problem = EqualProblem(4, 8, 3);
  for (MaskComponent& component : problem.components) component.memory_bytes = 100;
  problem.components[5].memory_bytes = 2000;
  problem.components[5].name = "head";
  SetBudgets(problem, {5000, 5000, 1500, 1500});
  ExpectRefused(problem,
                {"component \"head\" takes 1.95 KiB and needs 3 holders, but only 2 workers have room",
                 "short by 500 B", "what would fit: 2 holders"});
}

TEST(SolveMaskTest, RefusesMoreBytesThanThereIsRoomFor) {
  MaskProblem problem = EqualProblem(4, 8, 3);
  for (MaskComponent& component : problem.components) component.memory_bytes = 100;
  SetBudgets(problem, {500, 500, 500, 500});
  ExpectRefused(problem, {"needs 2.34 KiB", "leave room for 1.95 KiB", "400 B too little",
                          "2 holders for each component (masking.active_ratio 0.5)",
                          "a budget of 600 B on every worker"});
}

TEST(SolveMaskTest, RefusesComponentsTooCoarseForTheBudgets) {
  // Two of 300 fit into no 500, although 1200 fit into 4 x 500 in sum.
  MaskProblem problem = EqualProblem(4, 3, 2);
  for (MaskComponent& component : problem.components) component.memory_bytes = 300;
  SetBudgets(problem, {500, 500, 500, 500});
  ExpectRefused(problem, {"no assignment keeps every worker within its memory budget", "too coarse"});
}

TEST(SolveMaskTest, RefusesRulesThatExceedABudget) {
  MaskProblem problem = EqualProblem(4, 8, 2);
  for (MaskComponent& component : problem.components) component.memory_bytes = 100;
  SetBudgets(problem, {1000, 350, 1000, 1000});
  problem.generator = MaskGenerator::kCyclic;
  ExpectRefused(problem, {"worker 1 would hold 400 B with a memory budget of 350 B: 50 B too much"});
}

TEST(SolveMaskTest, DisconnectedMasksOnlyWhenAllowed) {
  MaskProblem problem = EqualProblem(4, 4, 1);
  problem.generator = MaskGenerator::kExplicit;
  problem.matrix = {{true, true, false, false},
                    {true, false, false, false},
                    {false, false, true, true},
                    {false, false, false, true}};
  ExpectRefused(problem, {"disconnected: the rows {0, 1}, {2, 3}", "masking.allow_disconnected"});
  problem.allow_disconnected = true;
  const MaskSolution allowed = SolveMask(problem).value();
  EXPECT_EQ(allowed.gap, 0.0);
  EXPECT_THAT(allowed.reasons, ::testing::Contains(HasSubstr("the ranks {0, 1}, {2, 3} share no component")));
  problem.generator = MaskGenerator::kBalanced;
  EXPECT_EQ(SolveMask(problem)->gap, 0.0);
  problem.generator = MaskGenerator::kCyclic;
  EXPECT_EQ(SolveMask(problem)->coverage_minimum, 1);
}

TEST(SolveMaskTest, RefusesWhatIsNoProblem) {
  EXPECT_EQ(SolveMask(MaskProblem()).status().code(), absl::StatusCode::kInvalidArgument);
  MaskProblem problem = EqualProblem(2, 2, 1);
  problem.components[1].size = 0;
  EXPECT_THAT(std::string(SolveMask(problem).status().message()), HasSubstr("component 1 has size 0"));
  problem = EqualProblem(2, 2, 1);
  problem.workers[1].profile.relative_speed = -1;
  EXPECT_THAT(std::string(SolveMask(problem).status().message()),
              HasSubstr("worker 1 has relative speed -1"));
  problem = EqualProblem(2, 2, 3);
  EXPECT_THAT(std::string(SolveMask(problem).status().message()), HasSubstr("there are 2 workers"));
}

}  // namespace
}  // namespace sdp
