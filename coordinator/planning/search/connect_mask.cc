#include "coordinator/planning/search/connect_mask.h"

#include "common/base/check.h"
#include "coordinator/planning/spectrum/disjoint_sets.h"

namespace sdp {

// With at least workers + columns - 1 holdings, a disconnected graph has a part with a cycle. One holding of
// the cycle and one of another part swap their ends: the cycle's part stays whole, and both ends of the other
// holding hang on it.
void Connect(Mask& mask) {
  const int workers = mask.workers();
  for (;;) {
    DisjointSets sets(workers + mask.columns());
    Rank cycle_rank = -1;
    int cycle_column = -1;
    for (int column = 0; column < mask.columns(); ++column) {
      for (Rank rank : mask.Holders(column)) {
        if (sets.Merge(rank, workers + column) || cycle_rank >= 0) continue;
        cycle_rank = rank;
        cycle_column = column;
      }
    }
    if (sets.sets() == 1) return;
    SDP_CHECK(cycle_rank >= 0, "too few holdings to connect the mask");
    int column = 0;
    while (sets.Find(workers + column) == sets.Find(cycle_rank)) ++column;
    const Rank rank = mask.Holders(column).front();
    mask.set(cycle_rank, cycle_column, false);
    mask.set(rank, column, false);
    mask.set(cycle_rank, column, true);
    mask.set(rank, cycle_column, true);
  }
}

}  // namespace sdp
