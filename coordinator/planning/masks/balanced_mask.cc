#include "coordinator/planning/masks/balanced_mask.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "common/base/check.h"
#include "common/base/random.h"
#include "coordinator/planning/search/connect_mask.h"
#include "coordinator/planning/search/search_gap.h"

namespace sdp {
namespace {

std::vector<int> ShuffledRange(int size, Random& random) {
  std::vector<int> range(size);
  std::iota(range.begin(), range.end(), 0);
  random.Shuffle(range);
  return range;
}

// A random mask with balanced rows and columns, perhaps disconnected: each column takes the ranks that still
// need most (Ryser's construction, which never gets stuck).
Mask BalancedStart(int workers, int columns, int64_t holdings, Random& random) {
  std::vector<int64_t> need(workers);
  std::vector<int> ranks = ShuffledRange(workers, random);
  for (int i = 0; i < workers; ++i) need[ranks[i]] = holdings / workers + (i < holdings % workers ? 1 : 0);
  const std::vector<int> order = ShuffledRange(columns, random);
  Mask mask(workers, columns);
  for (int c = 0; c < columns; ++c) {
    const int64_t holders = holdings / columns + (c < holdings % columns ? 1 : 0);
    random.Shuffle(ranks);
    std::stable_sort(ranks.begin(), ranks.end(), [&](Rank a, Rank b) { return need[a] > need[b]; });
    for (int64_t i = 0; i < holders; ++i) {
      mask.set(ranks[i], order[c], true);
      --need[ranks[i]];
    }
  }
  return mask;
}

}  // namespace

int64_t HoldingsOf(double active_ratio, int workers, int components) {
  return std::llround(active_ratio * workers * components);
}

int WholeHolders(double active_ratio, int workers, int components) {
  const int holders = static_cast<int>(std::llround(active_ratio * workers));
  return HoldingsOf(active_ratio, workers, components) == int64_t{holders} * components ? holders : 0;
}

int64_t MinimumHoldings(int workers, int components) { return int64_t{workers} + components - 1; }

double RatioOfHoldings(int64_t holdings, int workers, int components) {
  const double exact = static_cast<double>(holdings) / (static_cast<double>(workers) * components);
  return std::min(1.0, std::ceil(exact * 1e4 - 1e-6) / 1e4);
}

double MinimumActiveRatio(int workers, int components) {
  return RatioOfHoldings(MinimumHoldings(workers, components), workers, components);
}

Mask DisconnectedBalancedMask(int workers, int columns, int64_t holdings, uint64_t seed) {
  Random random(MixBits(seed));
  return BalancedStart(workers, columns, holdings, random);
}

Mask BalancedMask(int workers, const std::vector<double>& sizes, int64_t holdings, uint64_t seed) {
  const int columns = static_cast<int>(sizes.size());
  SDP_CHECK(holdings >= MinimumHoldings(workers, columns) && holdings <= int64_t{workers} * columns,
            "no balanced mask has this many holdings");
  if (holdings == int64_t{workers} * columns) return Mask::Full(workers, columns);
  const auto start = [&](Random& random) {
    Mask mask = BalancedStart(workers, columns, holdings, random);
    Connect(mask);
    return mask;
  };
  return SearchGap(sizes, {}, start, seed);
}

}  // namespace sdp
