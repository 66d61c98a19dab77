#include "cli/format/folded_mask.h"

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace sdp::cli {
namespace {

using testing::ElementsAre;

v1::Plan PlanWithMask(const std::vector<std::string>& rows) {
  v1::Plan plan;
  for (size_t rank = 0; rank < rows.size(); ++rank) {
    plan.add_members()->set_worker("worker-" + std::to_string(rank));
    plan.add_mask(rows[rank]);
  }
  return plan;
}

TEST(FoldMask, LeavesWhatFitsAsItIs) {
  const v1::Plan plan = PlanWithMask({"101", "011"});
  const FoldedMask mask = FoldMask(plan, 2, 3);
  EXPECT_FALSE(mask.folded());
  EXPECT_THAT(mask.shares, ElementsAre(ElementsAre(1, 0, 1), ElementsAre(0, 1, 1)));
  EXPECT_EQ(mask.RowLabel(plan, 1), "worker-1");
  EXPECT_EQ(mask.RowUnit(), "1 worker");
  EXPECT_EQ(mask.ColumnUnit(), "1 block");
}

TEST(FoldMask, LastCellsMayStandForLess) {
  const v1::Plan plan = PlanWithMask({"11001", "10000", "11111"});
  const FoldedMask mask = FoldMask(plan, 2, 3);
  EXPECT_TRUE(mask.folded());
  EXPECT_THAT(mask.shares, ElementsAre(ElementsAre(0.75, 0, 0.5), ElementsAre(1, 1, 1)));
  EXPECT_EQ(mask.RowLabel(plan, 0), "0-1");
  EXPECT_EQ(mask.RowLabel(plan, 1), "2");
  EXPECT_EQ(mask.RowUnit(), "2 workers");
  EXPECT_EQ(mask.ColumnUnit(), "2 blocks");
}

TEST(FoldMask, NoMaskAndUnevenRowsAreNoReasonToCrash) {
  EXPECT_EQ(FoldMask(v1::Plan(), 4, 4).columns(), 0);
  EXPECT_EQ(FoldMask(PlanWithMask({"", ""}), 4, 4).columns(), 0);
  EXPECT_THAT(FoldMask(PlanWithMask({"111", "1"}), 4, 4).shares,
              ElementsAre(ElementsAre(1, 1, 1), ElementsAre(1, 0, 0)));
  v1::Plan nameless = PlanWithMask({"1"});
  nameless.clear_members();
  EXPECT_EQ(FoldMask(nameless, 1, 1).RowLabel(nameless, 0), "");
}

}  // namespace
}  // namespace sdp::cli
