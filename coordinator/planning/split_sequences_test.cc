#include "coordinator/planning/split_sequences.h"

#include <algorithm>
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

// The shortest possible longest step, over all splits of `left` sequences from worker `i` on.
double Best(int left, const std::vector<double>& seconds, size_t i) {
  if (i + 1 == seconds.size()) return left * seconds[i];
  double best = 1e300;
  const int others = static_cast<int>(seconds.size() - i) - 1;
  for (int share = 1; share <= left - others; ++share) {
    best = std::min(best, std::max(share * seconds[i], Best(left - share, seconds, i + 1)));
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

TEST(SplitSequencesTest, IsAsShortAsCanBe) {
  Random random(5);
  for (int trial = 0; trial < 300; ++trial) {
    std::vector<double> seconds(2 + random.Below(3));
    for (double& time : seconds) time = 0.2 + random.Unit() * (trial % 2 == 0 ? 1 : 10);
    const int sequences = static_cast<int>(seconds.size() + random.Below(20));
    const std::vector<int> shares = SplitSequences(sequences, seconds);
    EXPECT_EQ(std::accumulate(shares.begin(), shares.end(), 0), sequences);
    EXPECT_GE(*std::min_element(shares.begin(), shares.end()), 1);
    EXPECT_NEAR(Longest(shares, seconds), Best(sequences, seconds, 0), 1e-9);
  }
}

}  // namespace
}  // namespace sdp
