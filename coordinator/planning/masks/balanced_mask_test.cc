#include "coordinator/planning/masks/balanced_mask.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "coordinator/planning/spectrum/mask_graph.h"
#include "gtest/gtest.h"

namespace sdp {
namespace {

std::vector<double> EqualSizes(int columns) { return std::vector<double>(columns, 1.0); }

// Row and column sums that differ by at most one, and the number of holdings.
void ExpectBalanced(const Mask& mask, int workers, int columns, int64_t holdings) {
  ASSERT_EQ(mask.workers(), workers);
  ASSERT_EQ(mask.columns(), columns);
  int64_t held = 0;
  for (Rank i = 0; i < workers; ++i) {
    EXPECT_GE(mask.Held(i), holdings / workers);
    EXPECT_LE(mask.Held(i), (holdings + workers - 1) / workers);
    held += mask.Held(i);
  }
  EXPECT_EQ(held, holdings);
  for (int b = 0; b < columns; ++b) {
    const int64_t holders = static_cast<int64_t>(mask.Holders(b).size());
    EXPECT_GE(holders, holdings / columns);
    EXPECT_LE(holders, (holdings + columns - 1) / columns);
  }
  EXPECT_EQ(ConnectedParts(mask).size(), 1u);
}

int DistinctRows(const Mask& mask) {
  const std::vector<std::string> rows = mask.Rows();
  return static_cast<int>(std::set<std::string>(rows.begin(), rows.end()).size());
}

// The largest gap of any balanced mask by number of holdings, over all masks with sorted rows (the gap does
// not depend on the order of workers), and the most distinct rows among those.
std::map<int64_t, std::pair<double, int>> ExhaustiveOptima(int workers, int columns) {
  std::map<int64_t, std::pair<double, int>> optima;
  std::vector<int> rows(workers, 0);
  const int limit = 1 << columns;
  const auto visit = [&] {
    Mask mask(workers, columns);
    int64_t holdings = 0;
    for (Rank i = 0; i < workers; ++i) {
      for (int b = 0; b < columns; ++b) {
        mask.set(i, b, (rows[i] >> b & 1) != 0);
        holdings += rows[i] >> b & 1;
      }
    }
    for (int b = 0; b < columns; ++b) {
      const int64_t holders = static_cast<int64_t>(mask.Holders(b).size());
      if (holders < holdings / columns || holders > (holdings + columns - 1) / columns) return;
    }
    for (Rank i = 0; i < workers; ++i) {
      if (mask.Held(i) < holdings / workers || mask.Held(i) > (holdings + workers - 1) / workers) return;
    }
    auto& [gap, distinct] = optima[holdings];
    const double this_gap = SpectralGap(mask, EqualSizes(columns));
    if (this_gap > gap + 1e-9) {
      gap = this_gap;
      distinct = DistinctRows(mask);
    } else if (this_gap > gap - 1e-9) {
      distinct = std::max(distinct, DistinctRows(mask));
    }
  };
  // Counts through all non-decreasing sequences of non-empty rows.
  std::fill(rows.begin(), rows.end(), 1);
  for (;;) {
    visit();
    int i = workers - 1;
    while (i >= 0 && rows[i] == limit - 1) --i;
    if (i < 0) return optima;
    const int next = rows[i] + 1;
    for (; i < workers; ++i) rows[i] = next;
  }
}

TEST(BalancedMaskTest, ReachesTheExhaustiveOptimumOfAllSmallSizes) {
  for (int workers = 1; workers <= 4; ++workers) {
    for (int columns = 1; columns <= 5; ++columns) {
      const auto optima = ExhaustiveOptima(workers, columns);
      for (int64_t holdings = MinimumHoldings(workers, columns); holdings <= workers * columns; ++holdings) {
        SCOPED_TRACE(testing::Message() << workers << " workers, " << columns << " columns, " << holdings);
        const Mask mask = BalancedMask(workers, EqualSizes(columns), holdings, 1);
        ExpectBalanced(mask, workers, columns, holdings);
        const auto& [gap, distinct] = optima.at(holdings);
        EXPECT_NEAR(SpectralGap(mask, EqualSizes(columns)), gap, 1e-9);
        EXPECT_EQ(DistinctRows(mask), distinct);
      }
    }
  }
}

// The largest gap of any mask with `holders` holders for each column and numbers of columns by rank that
// differ by at most one: over all multisets of columns, since the gap does not depend on their order.
double ExhaustiveOptimum(int workers, int columns, int holders) {
  std::vector<int> sets;  // of `holders` ranks, as bits
  for (int bits = 0; bits < 1 << workers; ++bits) {
    int count = 0;
    for (int i = 0; i < workers; ++i) count += bits >> i & 1;
    if (count == holders) sets.push_back(bits);
  }
  double best = 0;
  std::vector<int> chosen(columns, 0);
  for (;;) {
    Mask mask(workers, columns);
    std::vector<int> held(workers, 0);
    for (int b = 0; b < columns; ++b) {
      for (int i = 0; i < workers; ++i) {
        mask.set(i, b, (sets[chosen[b]] >> i & 1) != 0);
        held[i] += sets[chosen[b]] >> i & 1;
      }
    }
    const auto [least, most] = std::minmax_element(held.begin(), held.end());
    if (*least > 0 && *most - *least <= 1) best = std::max(best, SpectralGap(mask, EqualSizes(columns)));
    int b = columns - 1;  // the next non-decreasing sequence
    while (b >= 0 && chosen[b] == static_cast<int>(sets.size()) - 1) --b;
    if (b < 0) return best;
    const int next = chosen[b] + 1;
    for (; b < columns; ++b) chosen[b] = next;
  }
}

TEST(BalancedMaskTest, ReachesTheExhaustiveOptimumForEveryNumberOfHolders) {
  for (int workers = 2; workers <= 5; ++workers) {
    for (int columns = 1; columns <= 6; ++columns) {
      for (int holders = 1; holders <= workers; ++holders) {
        const int64_t holdings = int64_t{holders} * columns;
        if (holdings < MinimumHoldings(workers, columns)) continue;  // disconnected, whatever the mask
        SCOPED_TRACE(testing::Message() << workers << " workers, " << columns << " columns, " << holders);
        const double optimum = ExhaustiveOptimum(workers, columns, holders);
        for (uint64_t seed : {0, 1, 2}) {
          const Mask mask = BalancedMask(workers, EqualSizes(columns), holdings, seed);
          ExpectBalanced(mask, workers, columns, holdings);
          EXPECT_NEAR(SpectralGap(mask, EqualSizes(columns)), optimum, 1e-9);
        }
      }
    }
  }
}

struct Shape {
  int workers;
  int columns;
  int holders;
  double gap;
};

void PrintTo(const Shape& shape, std::ostream* out) {
  *out << shape.workers << " workers, " << shape.columns << " columns, " << shape.holders << " holders";
}

class ReferenceGaps : public ::testing::TestWithParam<Shape> {};

TEST_P(ReferenceGaps, AreReached) {
  const Shape& shape = GetParam();
  const int64_t holdings = int64_t{shape.holders} * shape.columns;
  const Mask mask = BalancedMask(shape.workers, EqualSizes(shape.columns), holdings, 0);
  ExpectBalanced(mask, shape.workers, shape.columns, holdings);
  EXPECT_EQ(MinimumCoverage(mask), shape.holders);
  EXPECT_EQ(DistinctRows(mask), shape.workers);
  EXPECT_GE(SpectralGap(mask, EqualSizes(shape.columns)), shape.gap - 1e-9);
}

INSTANTIATE_TEST_SUITE_P(Shapes, ReferenceGaps,
                         ::testing::Values(Shape{4, 8, 2, 0.5}, Shape{8, 12, 4, 0.833},
                                           Shape{8, 12, 3, 0.666}, Shape{8, 8, 3, 0.666},
                                           Shape{8, 32, 4, 0.843}, Shape{8, 16, 6, 0.944},
                                           Shape{16, 24, 4, 0.708}, Shape{16, 32, 4, 0.72},
                                           Shape{32, 24, 8, 0.765}, Shape{64, 32, 8, 0.63}));

TEST(BalancedMaskTest, ReachesTheBoundWhereABlockDesignExists) {
  // The Fano plane: 7 workers, 7 components, 3 holders, any two workers share one component.
  const Mask mask = BalancedMask(7, EqualSizes(7), 21, 5);
  EXPECT_NEAR(SpectralGap(mask, EqualSizes(7)), 7.0 * 2 / (3 * 6), 1e-9);
}

TEST(BalancedMaskTest, TheFewestHoldingsMakeATree) {
  for (const auto& [workers, columns] : std::vector<std::pair<int, int>>{{2, 9}, {9, 2}, {6, 6}, {5, 16}}) {
    SCOPED_TRACE(testing::Message() << workers << " workers, " << columns << " columns");
    const int64_t holdings = MinimumHoldings(workers, columns);
    const Mask mask = BalancedMask(workers, EqualSizes(columns), holdings, 3);
    ExpectBalanced(mask, workers, columns, holdings);
    EXPECT_GT(SpectralGap(mask, EqualSizes(columns)), 0.0);
  }
}

TEST(BalancedMaskTest, UnevenHoldingsStayBalanced) {
  // C = 0.69 of 16 blocks on 8 workers: 11 each, as in the paper; holders 5 or 6.
  EXPECT_EQ(HoldingsOf(0.69, 8, 16), 88);
  const Mask mask = BalancedMask(8, EqualSizes(16), 88, 0);
  ExpectBalanced(mask, 8, 16, 88);
  for (Rank i = 0; i < 8; ++i) EXPECT_EQ(mask.Held(i), 11);
  ExpectBalanced(BalancedMask(7, EqualSizes(10), 33, 0), 7, 10, 33);
}

TEST(BalancedMaskTest, SizesWeighInTheGap) {
  // One component is as large as the other seven.
  const std::vector<double> sizes = {7, 1, 1, 1, 1, 1, 1, 1};
  const Mask mask = BalancedMask(4, sizes, 16, 0);
  ExpectBalanced(mask, 4, 8, 16);
  EXPECT_GE(SpectralGap(mask, sizes), SpectralGap(BalancedMask(4, EqualSizes(8), 16, 0), sizes) - 1e-9);
}

TEST(BalancedMaskTest, SameArgumentsGiveTheSameMask) {
  const Mask mask = BalancedMask(6, EqualSizes(9), 27, 11);
  EXPECT_TRUE(mask == BalancedMask(6, EqualSizes(9), 27, 11));
  EXPECT_EQ(BalancedMask(4, EqualSizes(6), 12, 0).Rows(),
            (std::vector<std::string>{"010011", "111000", "001110", "100101"}));
  // Sizes count relative to each other only.
  EXPECT_TRUE(mask == BalancedMask(6, std::vector<double>(9, 4096.0), 27, 11));
}

TEST(BalancedMaskTest, LargeMasksTakeBoundedWork) {
  const Mask mask = BalancedMask(256, EqualSizes(128), 256 * 32, 0);
  ExpectBalanced(mask, 256, 128, 256 * 32);
  EXPECT_GT(SpectralGap(mask, EqualSizes(128)), 0.8);
}

TEST(BalancedMaskTest, HoldingsOfARatio) {
  EXPECT_EQ(HoldingsOf(0.5, 4, 8), 16);
  EXPECT_EQ(HoldingsOf(0.333, 3, 8), 8);  // one of three
  EXPECT_EQ(HoldingsOf(1.0, 3, 8), 24);
}

TEST(BalancedMaskTest, MinimumActiveRatioIsTheSmallestThatWorks) {
  for (int workers = 1; workers <= 40; ++workers) {
    for (int columns = 1; columns <= 40; ++columns) {
      const double ratio = MinimumActiveRatio(workers, columns);
      const int64_t minimum = MinimumHoldings(workers, columns);
      EXPECT_LE(ratio, 1.0);
      EXPECT_GE(HoldingsOf(ratio, workers, columns), minimum) << workers << " " << columns;
      const double exact = static_cast<double>(minimum) / (workers * columns);
      EXPECT_LT(ratio, exact + 1e-4) << workers << " " << columns;
    }
  }
}

}  // namespace
}  // namespace sdp
