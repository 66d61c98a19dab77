#include "coordinator/planning/masks/depth_order.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "common/base/random.h"
#include "coordinator/planning/masks/balanced_mask.h"
#include "coordinator/planning/spectrum/mask_graph.h"

namespace sdp {
namespace {

// The largest difference between what a worker holds of any prefix of the depth and its share of it.
double Unevenness(const Mask& mask) {
  double worst = 0;
  for (Rank rank = 0; rank < mask.workers(); ++rank) {
    int held = 0;
    for (int column = 0; column < mask.columns(); ++column) {
      held += mask.holds(rank, column);
      const double share = static_cast<double>(mask.Held(rank)) * (column + 1) / mask.columns();
      worst = std::max(worst, std::abs(held - share));
    }
  }
  return worst;
}

std::vector<std::vector<Rank>> SortedColumns(const Mask& mask) {
  std::vector<std::vector<Rank>> columns;
  for (int column = 0; column < mask.columns(); ++column) columns.push_back(mask.Holders(column));
  std::sort(columns.begin(), columns.end());
  return columns;
}

TEST(DepthOrderTest, HalvesTakeOneOfEachTwoNeighbours) {
  const Mask mask = *Mask::FromRows({"10001101", "11010001", "01100110", "00111010"});
  ASSERT_GE(Unevenness(mask), 1.0);
  const Mask spread = SpreadOverDepth(mask, std::vector<int>(8, 0));
  for (Rank rank = 0; rank < 4; ++rank) {
    for (int pair = 0; pair < 8; pair += 2) {
      EXPECT_EQ(spread.holds(rank, pair) + spread.holds(rank, pair + 1), 1)
          << "rank " << rank << ", blocks " << pair;
    }
  }
}

TEST(DepthOrderTest, KeepsTheColumnsAndTheirGap) {
  for (int workers : {2, 3, 5, 8}) {
    for (int columns : {4, 7, 12}) {
      const int64_t holdings = std::max(MinimumHoldings(workers, columns), HoldingsOf(0.5, workers, columns));
      const std::vector<double> sizes(columns, 1.0);
      const Mask mask = BalancedMask(workers, sizes, holdings, 7);
      const Mask spread = SpreadOverDepth(mask, std::vector<int>(columns, 0));
      EXPECT_EQ(SortedColumns(spread), SortedColumns(mask));
      EXPECT_NEAR(SpectralGap(spread, sizes), SpectralGap(mask, sizes), 1e-9);
      EXPECT_LE(Unevenness(spread), 1.5) << workers << " workers, " << columns << " columns";
    }
  }
}

TEST(DepthOrderTest, MovesColumnsAmongEqualKindsOnly) {
  Random random(3);
  Mask mask(4, 10);
  std::vector<int> kinds;
  for (int column = 0; column < 10; ++column) {
    kinds.push_back(column % 3 == 0 ? 2 : 1);
    for (Rank rank = 0; rank < 4; ++rank) mask.set(rank, column, random.Below(2) == 0);
  }
  const Mask spread = SpreadOverDepth(mask, kinds);
  for (int kind : {1, 2}) {
    std::vector<std::vector<Rank>> before, after;
    for (int column = 0; column < 10; ++column) {
      if (kinds[column] != kind) continue;
      before.push_back(mask.Holders(column));
      after.push_back(spread.Holders(column));
    }
    std::sort(before.begin(), before.end());
    std::sort(after.begin(), after.end());
    EXPECT_EQ(after, before);
  }
}

TEST(DepthOrderTest, IsStable) {
  const std::vector<int> kinds(8, 0);
  const Mask spread = SpreadOverDepth(BalancedMask(4, std::vector<double>(8, 1.0), 16, 1), kinds);
  EXPECT_EQ(SpreadOverDepth(spread, kinds), spread);
}

}  // namespace
}  // namespace sdp
