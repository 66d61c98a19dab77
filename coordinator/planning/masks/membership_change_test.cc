// New members, few bytes.
#include <string>
#include <vector>

#include "coordinator/planning/masks/adapt_mask.h"
#include "coordinator/planning/masks/mask_problem.h"
#include "coordinator/planning/masks/solve_balanced.h"
#include "coordinator/planning/masks/test_problems.h"
#include "coordinator/planning/spectrum/mask_graph.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace sdp {
namespace {

struct Shape {
  int workers;
  int columns;
  int holders;
};

void PrintTo(const Shape& shape, std::ostream* out) {
  *out << shape.workers << " workers, " << shape.columns << " columns, " << shape.holders << " holders";
}

class MembershipChange : public ::testing::TestWithParam<Shape> {
 protected:
  void SetUp() override {
    problem_ = EqualProblem(GetParam().workers, GetParam().columns, GetParam().holders);
    before_ = SolveMask(problem_)->mask;
  }

  void ExpectCheapAndGood(const MaskProblem& changed) {
    const absl::StatusOr<MaskSolution> after = SolveMask(changed);
    ASSERT_TRUE(after.ok()) << after.status();
    EXPECT_GT(after->moved_bytes_lower_bound, 0);
    EXPECT_GE(after->moved_bytes, after->moved_bytes_lower_bound);
    EXPECT_LE(after->moved_bytes, 1.2 * after->moved_bytes_lower_bound);
    EXPECT_GE(after->gap, 0.97 * after->fresh_gap);
    EXPECT_EQ(after->coverage_minimum, GetParam().holders);
    EXPECT_LE(after->memory_imbalance, 1 + GetParam().workers / (1.0 * GetParam().columns));
    // The bytes are those of what is held and was not.
    const std::vector<double> sizes(GetParam().columns, 1.0);
    EXPECT_EQ(after->moved_bytes,
              MovedSize(after->mask, PreviousByRank(changed), sizes) * kStateBytesPerParameter);
    RecordProperty("moved", std::to_string(after->moved_bytes / after->moved_bytes_lower_bound));
    RecordProperty("gap", std::to_string(after->gap / after->fresh_gap));
  }

  MaskProblem problem_;
  Mask before_;
};

TEST_P(MembershipChange, OneJoins) { ExpectCheapAndGood(Changed(problem_, before_, {}, 1)); }
TEST_P(MembershipChange, OneLeaves) { ExpectCheapAndGood(Changed(problem_, before_, {3}, 0)); }
TEST_P(MembershipChange, OneIsReplaced) { ExpectCheapAndGood(Changed(problem_, before_, {2}, 1)); }

INSTANTIATE_TEST_SUITE_P(Shapes, MembershipChange,
                         ::testing::Values(Shape{8, 32, 4}, Shape{64, 64, 8}, Shape{512, 256, 16}));

TEST(MembershipChangeTest, NothingMovesWithoutAChange) {
  const MaskProblem problem = EqualProblem(8, 16, 3);
  const Mask before = SolveMask(problem)->mask;
  const MaskSolution after = SolveMask(Changed(problem, before, {}, 0)).value();
  EXPECT_TRUE(after.mask == before);
  EXPECT_EQ(after.moved_bytes, 0);
}

TEST(MembershipChangeTest, UnequalComponentsStayBalanced) {
  MaskProblem problem = EqualProblem(8, 17, 3);
  const std::vector<double> sizes = LlamaWithHeavyHead();
  for (int b = 0; b < 17; ++b) problem.components[b].size = sizes[b];
  const Mask before = SolveMask(problem)->mask;
  for (const MaskProblem& changed : {Changed(problem, before, {}, 1), Changed(problem, before, {5}, 0)}) {
    const absl::StatusOr<MaskSolution> after = SolveMask(changed);
    ASSERT_TRUE(after.ok()) << after.status();
    EXPECT_EQ(after->coverage_minimum, 3);
    EXPECT_LT(after->memory_imbalance, 1.2);
    EXPECT_GE(after->moved_bytes, after->moved_bytes_lower_bound);
    // Far less than a third of everything, which a mask made from nothing would move.
    EXPECT_LT(after->moved_bytes, 0.45 * 3 * 1220e6 * kStateBytesPerParameter);
  }
}

TEST(MembershipChangeTest, ComponentsThatNobodyHasAreNotMadeUp) {
  MaskProblem problem = EqualProblem(4, 8, 2);
  const Mask before = SolveMask(problem)->mask;
  // Both holders of component 0 leave.
  const absl::Status status = SolveMask(Changed(problem, before, before.Holders(0), 2)).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(status.message()),
              ::testing::HasSubstr("nobody of those who stay holds component 0"));
}

TEST(MembershipChangeTest, TheLowerBoundIsExactWhereItCanBeCounted) {
  // A fifth worker of 20 holdings takes 4; of four workers with 5 each one leaves, and 5 must be copied.
  AdaptProblem adapt;
  adapt.sizes.assign(10, 2.0);
  adapt.holdings = 20;
  adapt.previous =
      Mask::FromRows({"1111100000", "0000011111", "1111100000", "0000011111", "0000000000"}).value();
  EXPECT_EQ(MovedLowerBound(adapt), 2.0 * 4);
  adapt.previous = Mask::FromRows({"1111100000", "0000011111", "1111100000"}).value();
  EXPECT_EQ(MovedLowerBound(adapt), 2.0 * 5);
}

TEST(MembershipChangeTest, PreviousRanksMustExist) {
  MaskProblem problem = EqualProblem(4, 8, 2);
  problem.previous = SolveMask(problem)->mask;
  problem.workers[1].previous = 4;
  EXPECT_EQ(SolveMask(problem).status().code(), absl::StatusCode::kInvalidArgument);
  problem.workers[0].previous = problem.workers[1].previous = 2;
  EXPECT_EQ(SolveMask(problem).status().code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace sdp
