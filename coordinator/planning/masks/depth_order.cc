#include "coordinator/planning/masks/depth_order.h"

#include <limits>

#include "common/base/check.h"
#include "coordinator/planning/spectrum/averaging_factor.h"

namespace sdp {
namespace {

// By how much more the squared differences grow when `holders` are given one component more, compared with a
// column that nobody holds. `ahead[i]` is what worker i has beyond its share after this position, without the
// column.
double Cost(const std::vector<Rank>& holders, const std::vector<double>& ahead) {
  double cost = 0;
  for (const Rank rank : holders) cost += 2 * ahead[rank] + 1;
  return cost;
}

}  // namespace

Mask SpreadOverDepth(const Mask& mask, const std::vector<int>& kinds) {
  SDP_CHECK(static_cast<int>(kinds.size()) == mask.columns(), "a kind for each column");
  // Differences below this are rounding, and must not decide.
  constexpr double kTolerance = 1e-9;
  const std::vector<std::vector<Rank>> holders = HolderLists(mask);
  std::vector<double> share(mask.workers());  // of one position
  for (Rank rank = 0; rank < mask.workers(); ++rank) {
    share[rank] = static_cast<double>(mask.Held(rank)) / mask.columns();
  }

  Mask spread(mask.workers(), mask.columns());
  std::vector<double> ahead(mask.workers(), 0.0);
  std::vector<bool> placed(mask.columns(), false);
  for (int position = 0; position < mask.columns(); ++position) {
    for (Rank rank = 0; rank < mask.workers(); ++rank) ahead[rank] -= share[rank];
    int best = -1;
    double best_cost = std::numeric_limits<double>::infinity();
    for (int column = 0; column < mask.columns(); ++column) {
      if (placed[column] || kinds[column] != kinds[position]) continue;
      const double cost = Cost(holders[column], ahead);
      if (cost < best_cost - kTolerance) {
        best = column;
        best_cost = cost;
      }
    }
    SDP_CHECK(best >= 0, "as many columns of a kind as positions of that kind");
    placed[best] = true;
    for (const Rank rank : holders[best]) {
      spread.set(rank, position, true);
      ahead[rank] += 1;
    }
  }
  return spread;
}

}  // namespace sdp
