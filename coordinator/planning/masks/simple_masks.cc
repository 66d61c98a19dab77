#include "coordinator/planning/masks/simple_masks.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "common/base/random.h"
#include "coordinator/planning/masks/balanced_mask.h"
#include "coordinator/planning/search/connect_mask.h"
#include "coordinator/planning/spectrum/mask_graph.h"

namespace sdp {
namespace {

constexpr int kDraws = 50;

std::vector<int> Range(int size) {
  std::vector<int> range(size);
  std::iota(range.begin(), range.end(), 0);
  return range;
}

// How many of `order`'s first components come closest to `share` of the size, at least one.
int PrefixOfShare(const std::vector<double>& sizes, const std::vector<int>& order, double share) {
  const double wanted = share * std::accumulate(sizes.begin(), sizes.end(), 0.0);
  double sum = sizes[order[0]];
  int count = 1;
  while (count < static_cast<int>(order.size())) {
    const double next = sum + sizes[order[count]];
    if (next - wanted > wanted - sum) break;
    sum = next;
    ++count;
  }
  return count;
}

Mask Draw(int workers, const std::vector<double>& sizes, double active_ratio, Random& random) {
  const int columns = static_cast<int>(sizes.size());
  Mask mask(workers, columns);
  const int holders = WholeHolders(active_ratio, workers, columns);
  if (holders > 0) {
    std::vector<int> ranks = Range(workers);
    for (int column = 0; column < columns; ++column) {
      random.Shuffle(ranks);
      for (int i = 0; i < holders; ++i) mask.set(ranks[i], column, true);
    }
    return mask;
  }
  std::vector<int> order = Range(columns);
  for (Rank rank = 0; rank < workers; ++rank) {
    random.Shuffle(order);
    const int count = PrefixOfShare(sizes, order, active_ratio);
    for (int i = 0; i < count; ++i) mask.set(rank, order[i], true);
  }
  return mask;
}

bool Usable(const Mask& mask, bool connected) {
  if (MinimumCoverage(mask) == 0) return false;
  for (Rank rank = 0; rank < mask.workers(); ++rank) {
    if (mask.Held(rank) == 0) return false;
  }
  return !connected || ConnectedParts(mask).size() == 1;
}

// Every worker without a component takes one over from the component with the most holders; every component
// without a holder replaces one of those on the worker that holds most. While there are as many holdings as
// the caller promised, someone can always spare one.
void FillEmpty(Mask& mask) {
  std::vector<int> holders(mask.columns());
  std::vector<int> held(mask.workers());
  for (int b = 0; b < mask.columns(); ++b) holders[b] = static_cast<int>(mask.Holders(b).size());
  for (Rank i = 0; i < mask.workers(); ++i) held[i] = mask.Held(i);
  const auto most_held = [&](const std::vector<Rank>& ranks) {
    return *std::max_element(ranks.begin(), ranks.end(), [&](Rank a, Rank b) { return held[a] < held[b]; });
  };
  for (Rank rank = 0; rank < mask.workers(); ++rank) {
    if (held[rank] > 0) continue;
    int column = -1;  // with a holder that can spare it
    for (int b = 0; b < mask.columns(); ++b) {
      if (holders[b] == 0 || held[most_held(mask.Holders(b))] < 2) continue;
      if (column < 0 || holders[b] > holders[column]) column = b;
    }
    const Rank giver = most_held(mask.Holders(column));
    mask.set(giver, column, false);
    mask.set(rank, column, true);
    --held[giver];
    ++held[rank];
  }
  for (int column = 0; column < mask.columns(); ++column) {
    if (holders[column] > 0) continue;
    const int donor = static_cast<int>(std::max_element(holders.begin(), holders.end()) - holders.begin());
    const Rank rank = most_held(mask.Holders(donor));
    mask.set(rank, donor, false);
    mask.set(rank, column, true);
    --holders[donor];
    ++holders[column];
  }
}

// Draws of shares may fall short of a tree by a few holdings: the smallest components are handed out in turn.
void AddHoldings(Mask& mask, const std::vector<double>& sizes, int64_t holdings) {
  int64_t held = 0;
  for (Rank rank = 0; rank < mask.workers(); ++rank) held += mask.Held(rank);
  std::vector<int> order = Range(mask.columns());
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return sizes[a] < sizes[b]; });
  for (int column : order) {
    for (Rank rank = 0; rank < mask.workers() && held < holdings; ++rank) {
      if (mask.holds(rank, column)) continue;
      mask.set(rank, column, true);
      ++held;
    }
  }
}

}  // namespace

Mask RandomMask(int workers, const std::vector<double>& sizes, double active_ratio, bool connected,
                uint64_t seed, bool* repaired) {
  Random random(MixBits(seed));
  Mask mask;
  *repaired = false;
  for (int draw = 0; draw < kDraws; ++draw) {
    mask = Draw(workers, sizes, active_ratio, random);
    if (Usable(mask, connected)) return mask;
  }
  *repaired = true;
  const int columns = static_cast<int>(sizes.size());
  AddHoldings(mask, sizes, connected ? MinimumHoldings(workers, columns) : std::max(workers, columns));
  FillEmpty(mask);
  if (connected) Connect(mask);
  return mask;
}

Mask CyclicMask(int workers, const std::vector<double>& sizes, double active_ratio) {
  const int columns = static_cast<int>(sizes.size());
  Mask mask(workers, columns);
  const int holders = WholeHolders(active_ratio, workers, columns);
  if (holders > 0) {
    // Neighbouring components with one window share their communicator and their buckets.
    for (int column = 0; column < columns; ++column) {
      const int64_t first = int64_t{column} * workers / columns;
      for (int i = 0; i < holders; ++i) mask.set(static_cast<Rank>((first + i) % workers), column, true);
    }
    return mask;
  }
  for (Rank rank = 0; rank < workers; ++rank) {
    const int first = static_cast<int>(int64_t{rank} * columns / workers);
    std::vector<int> window(columns);
    for (int i = 0; i < columns; ++i) window[i] = (first + i) % columns;
    const int count = PrefixOfShare(sizes, window, active_ratio);
    for (int i = 0; i < count; ++i) mask.set(rank, window[i], true);
  }
  return mask;
}

}  // namespace sdp
