#include "coordinator/planning/search/load_balance.h"

#include <algorithm>
#include <vector>

#include "common/base/random.h"
#include "coordinator/planning/masks/test_problems.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace sdp {
namespace {

using ::testing::ElementsAre;

LoadProblem Equal(int workers, const std::vector<double>& weights, int holders) {
  LoadProblem problem;
  problem.weights = weights;
  problem.holders.assign(weights.size(), holders);
  double total = 0;
  for (double weight : weights) total += weight * holders;
  problem.targets.assign(workers, total / workers);
  problem.limits.assign(workers, 1e18);
  return problem;
}

// The smallest possible largest share, over all masks there are.
double Exhaustive(const LoadProblem& problem) {
  const int workers = static_cast<int>(problem.targets.size());
  const int columns = static_cast<int>(problem.weights.size());
  double best = 1e300;
  for (int64_t bits = 0; bits < int64_t{1} << (workers * columns); ++bits) {
    Mask mask(workers, columns);
    bool fits = true;
    for (int b = 0; b < columns && fits; ++b) {
      int holders = 0;
      for (Rank i = 0; i < workers; ++i) {
        const bool held = (bits >> (i * columns + b) & 1) != 0;
        mask.set(i, b, held);
        holders += held ? 1 : 0;
      }
      fits = holders == problem.holders[b];
    }
    const std::vector<double> loads = Loads(mask, problem.weights);
    for (Rank i = 0; i < workers && fits; ++i) fits = loads[i] <= problem.limits[i];
    if (fits) best = std::min(best, WorstLoad(mask, problem));
  }
  return best;
}

TEST(LoadBalanceTest, SharesInProportionUpToWhatEachCanTake) {
  EXPECT_THAT(ShareLoad(12, {9, 9, 9}, {1, 2, 3}), ElementsAre(2, 4, 6));
  EXPECT_THAT(ShareLoad(12, {9, 9, 4}, {1, 1, 6}), ElementsAre(4, 4, 4));
  EXPECT_THAT(ShareLoad(12, {9, 5, 4}, {1, 9, 9}), ElementsAre(3, 5, 4));
}

TEST(LoadBalanceTest, BranchAndBoundAgreesWithAllMasks) {
  Random random(3);
  int possible = 0;
  for (int trial = 0; trial < 40; ++trial) {
    const int workers = 2 + static_cast<int>(random.Below(2));
    std::vector<double> weights(2 + random.Below(3));
    for (double& weight : weights) weight = 1 + static_cast<double>(random.Below(9));
    LoadProblem problem = Equal(workers, weights, 1 + static_cast<int>(random.Below(workers - 1)));
    problem.limits[0] = 5 + static_cast<double>(random.Below(20));
    const double best = Exhaustive(problem);
    Mask mask;
    for (double worst : {1.0, 1.2, 1.5, best}) {
      const bool expected = best <= worst + 1e-12 && best < 1e300;
      const SearchOutcome outcome = BranchAndBound(problem, worst, 1'000'000, &mask);
      EXPECT_EQ(outcome, expected ? SearchOutcome::kFound : SearchOutcome::kImpossible) << trial;
      if (outcome != SearchOutcome::kFound) continue;
      ++possible;
      EXPECT_LE(WorstLoad(mask, problem), worst + 1e-6);
      for (size_t b = 0; b < weights.size(); ++b) {
        EXPECT_EQ(static_cast<int>(mask.Holders(static_cast<int>(b)).size()), problem.holders[b]);
      }
    }
  }
  EXPECT_GT(possible, 20);
}

TEST(LoadBalanceTest, ProvesWhatIsImpossible) {
  // One component outweighs the mean of eight workers.
  Mask mask;
  EXPECT_EQ(BranchAndBound(Equal(8, ResNet18Blocks(), 3), 1.05, 100'000, &mask), SearchOutcome::kImpossible);
  EXPECT_EQ(BranchAndBound(Equal(8, std::vector<double>(30, 1.01), 3), 1.05, 5, &mask),
            SearchOutcome::kGaveUp);
}

TEST(LoadBalanceTest, FindsAssignmentsThatOnlyBranchAndBoundFinds) {
  // {4, 3, 3} and {5, 5}: exactly 10 each, within limits that allow nothing else.
  LoadProblem problem = Equal(2, {5, 5, 4, 3, 3}, 1);
  problem.limits = {10, 10};
  SearchOutcome outcome;
  const auto mask = BalanceLoads(problem, 1, &outcome);
  ASSERT_TRUE(mask.has_value());
  EXPECT_THAT(Loads(*mask, problem.weights), ElementsAre(10, 10));
  problem.limits = {10, 9.5};
  EXPECT_FALSE(BalanceLoads(problem, 1, &outcome).has_value());
  EXPECT_EQ(outcome, SearchOutcome::kImpossible);
}

TEST(LoadBalanceTest, NobodyIsLeftWithNothing) {
  // One component is all of the load, nearly.
  SearchOutcome outcome;
  const auto mask = BalanceLoads(Equal(4, {100, 100, 1, 1}, 1), 2, &outcome);
  ASSERT_TRUE(mask.has_value());
  for (Rank i = 0; i < 4; ++i) EXPECT_EQ(mask->Held(i), 1);
}

// Half of the workers have targets far below any component: chance alone would leave many with nothing.
TEST(LoadBalanceTest, EveryoneGetsSomethingHoweverSmallItsTarget) {
  LoadProblem problem = Equal(200, std::vector<double>(300, 1.0), 4);
  for (int i = 0; i < 100; ++i) problem.targets[i] = 0.01;
  SearchOutcome outcome;
  const absl::optional<Mask> mask = BalanceLoads(problem, 1, &outcome);
  ASSERT_TRUE(mask.has_value());
  for (Rank i = 0; i < 200; ++i) EXPECT_GE(mask->Held(i), 1) << "worker " << i;
}

}  // namespace
}  // namespace sdp
