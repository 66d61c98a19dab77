#include "coordinator/planning/masks/simple_masks.h"

#include <string>
#include <vector>

#include "coordinator/planning/spectrum/mask_graph.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace sdp {
namespace {

using ::testing::ElementsAre;

std::vector<double> Sizes(int columns) { return std::vector<double>(columns, 1.0); }

TEST(RandomMaskTest, WholeHoldersAreExact) {
  bool repaired = true;
  const Mask mask = RandomMask(8, Sizes(16), 3.0 / 8, true, 1, &repaired);
  for (int b = 0; b < 16; ++b) EXPECT_EQ(mask.Holders(b).size(), 3u);
  EXPECT_EQ(ConnectedParts(mask).size(), 1u);
  EXPECT_FALSE(repaired);
}

TEST(RandomMaskTest, OtherRatiosHoldTheirShareAsInThePaper) {
  bool repaired = true;
  const Mask mask = RandomMask(8, Sizes(16), 0.69, true, 1, &repaired);
  for (Rank i = 0; i < 8; ++i) EXPECT_EQ(mask.Held(i), 11);
  EXPECT_GE(MinimumCoverage(mask), 1);
  EXPECT_FALSE(repaired);
}

TEST(RandomMaskTest, HoldersAreUniform) {
  // 3 of 6 hold each of 4000 components: each worker about 2000 of them, each pair of workers 800.
  bool repaired = false;
  const Mask mask = RandomMask(6, Sizes(4000), 0.5, true, 7, &repaired);
  for (Rank i = 0; i < 6; ++i) EXPECT_NEAR(mask.Held(i), 2000, 160);
  for (Rank i = 0; i < 6; ++i) {
    for (Rank j = i + 1; j < 6; ++j) {
      int together = 0;
      for (int b = 0; b < 4000; ++b) together += mask.holds(i, b) && mask.holds(j, b) ? 1 : 0;
      EXPECT_NEAR(together, 800, 130);
    }
  }
}

TEST(RandomMaskTest, TheFewestHoldingsAreRepairedIntoATree) {
  bool repaired = false;
  // 20 holdings where a tree has 19: random draws leave somebody out almost always.
  const Mask mask = RandomMask(16, Sizes(4), 5.0 / 16, true, 3, &repaired);
  EXPECT_TRUE(repaired);
  EXPECT_EQ(ConnectedParts(mask).size(), 1u);
  int held = 0;
  for (Rank i = 0; i < 16; ++i) held += mask.Held(i);
  EXPECT_EQ(held, 20);
}

TEST(RandomMaskTest, MayBeDisconnectedWhenAllowed) {
  bool repaired = false;
  const Mask mask = RandomMask(4, Sizes(4), 0.25, false, 0, &repaired);
  EXPECT_EQ(MinimumCoverage(mask), 1);
  for (Rank i = 0; i < 4; ++i) EXPECT_EQ(mask.Held(i), 1);
}

TEST(RandomMaskTest, SeedsDiffer) {
  bool repaired = false;
  const Mask mask = RandomMask(8, Sizes(16), 0.5, true, 1, &repaired);
  EXPECT_TRUE(mask == RandomMask(8, Sizes(16), 0.5, true, 1, &repaired));
  EXPECT_FALSE(mask == RandomMask(8, Sizes(16), 0.5, true, 2, &repaired));
}

TEST(CyclicMaskTest, WindowsShift) {
  EXPECT_THAT(CyclicMask(4, Sizes(4), 0.5).Rows(), ElementsAre("1001", "1100", "0110", "0011"));
  // Two neighbouring components share each window.
  EXPECT_THAT(CyclicMask(4, Sizes(8), 0.5).Rows(),
              ElementsAre("11000011", "11110000", "00111100", "00001111"));
}

TEST(CyclicMaskTest, OtherRatiosShiftWindowsOfComponents) {
  const Mask mask = CyclicMask(8, Sizes(16), 0.69);
  for (Rank i = 0; i < 8; ++i) EXPECT_EQ(mask.Held(i), 11);
  EXPECT_EQ(MinimumCoverage(mask), 5);
  EXPECT_EQ(ConnectedParts(mask).size(), 1u);
}

TEST(CyclicMaskTest, WindowsFollowTheShareOfTheSize) {
  // Half of the size is the heavy component alone, or all the others; without it in reach, what comes
  // closest.
  EXPECT_THAT(CyclicMask(3, {3, 1, 1, 1}, 0.5).Rows(), ElementsAre("1000", "0111", "0011"));
}

}  // namespace
}  // namespace sdp
