#include "coordinator/planning/split_sequences.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "common/base/random.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace sdp {
namespace {

using ::testing::ElementsAre;

double Longest(const std::vector<int>& shares, const std::vector<double>& seconds) {
  double longest = 0;
  for (size_t i = 0; i < shares.size(); ++i) longest = std::max(longest, shares[i] * seconds[i]);
  return longest;
}

// The shortest possible longest step, over all splits of `left` sequences from worker `i` on; endless when
// there is none.
double Best(int left, const std::vector<double>& seconds, const std::vector<int>& most, size_t i) {
  double best = std::numeric_limits<double>::infinity();
  if (i + 1 == seconds.size()) return left >= 1 && left <= most[i] ? left * seconds[i] : best;
  for (int share = 1; share <= std::min(left, most[i]); ++share) {
    best = std::min(best, std::max(share * seconds[i], Best(left - share, seconds, most, i + 1)));
  }
  return best;
}

TEST(SplitSequencesTest, EqualWorkersGetTheRemainderFirst) {
  EXPECT_THAT(SplitSequences(10, {1, 1, 1, 1}), ElementsAre(3, 3, 2, 2));
  EXPECT_THAT(SplitSequences(4, {0.5, 0.5, 0.5, 0.5}), ElementsAre(1, 1, 1, 1));
  EXPECT_THAT(SplitSequences(7, {3.0}), ElementsAre(7));
}

TEST(SplitSequencesTest, FasterWorkersGetMore) {
  EXPECT_THAT(SplitSequences(30, {1, 2}), ElementsAre(20, 10));
  EXPECT_THAT(SplitSequences(12, {1, 1, 4}), ElementsAre(6, 5, 1));
}

TEST(SplitSequencesTest, NobodyGetsMoreThanFits) {
  EXPECT_THAT(SplitSequences(30, {1, 2}, {16, 30}), ElementsAre(16, 14));
  EXPECT_THAT(SplitSequences(6, {1, 1, 1}, {1, 2, 3}), ElementsAre(1, 2, 3));
}

TEST(SplitSequencesTest, IsAsShortAsCanBe) {
  Random random(5);
  for (int trial = 0; trial < 300; ++trial) {
    std::vector<double> seconds(2 + random.Below(3));
    for (double& time : seconds) time = 0.2 + random.Unit() * (trial % 2 == 0 ? 1 : 10);
    const int sequences = static_cast<int>(seconds.size() + random.Below(20));
    std::vector<int> most(seconds.size(), sequences);
    for (int& cap : most) {
      if (trial % 3 == 0) cap = 1 + sequences / static_cast<int>(seconds.size()) + random.Below(3);
    }
    const std::vector<int> shares = SplitSequences(sequences, seconds, most);
    for (size_t i = 0; i < shares.size(); ++i) EXPECT_LE(shares[i], most[i]);
    EXPECT_EQ(std::accumulate(shares.begin(), shares.end(), 0), sequences);
    EXPECT_GE(*std::min_element(shares.begin(), shares.end()), 1);
    EXPECT_NEAR(Longest(shares, seconds), Best(sequences, seconds, most, 0), 1e-9);
  }
}

}  // namespace
}  // namespace sdp
