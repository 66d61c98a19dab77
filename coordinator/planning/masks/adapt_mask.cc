#include "coordinator/planning/masks/adapt_mask.h"

#include <algorithm>
#include <numeric>

#include "common/base/random.h"
#include "coordinator/planning/search/search_gap.h"
#include "coordinator/planning/spectrum/averaging_factor.h"
#include "coordinator/planning/spectrum/mask_graph.h"

namespace sdp {
namespace {

constexpr double kRounding = 1e-9;

// Number of holders of each column that keeps most: with an odd number of holdings, the columns that have
// most holders now get one more.
std::vector<int> WantedHolders(const AdaptProblem& problem) {
  if (problem.holdings == 0) return problem.loads.holders;
  const int columns = problem.previous.columns();
  const std::vector<std::vector<Rank>> holders = HolderLists(problem.previous);
  std::vector<int> order(columns);
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](int a, int b) { return holders[a].size() > holders[b].size(); });
  std::vector<int> wanted(columns, static_cast<int>(problem.holdings / columns));
  for (int64_t i = 0; i < problem.holdings % columns; ++i) ++wanted[order[i]];
  return wanted;
}

// The previous mask on its way to a balanced one.
class Repair {
 public:
  Repair(const AdaptProblem& problem, Random& random)
      : problem_(problem),
        random_(random),
        workers_(problem.previous.workers()),
        columns_(problem.previous.columns()),
        by_count_(problem.holdings > 0),
        mask_(problem.previous),
        held_(workers_) {
    for (Rank i = 0; i < workers_; ++i) held_[i] = mask_.Held(i);
    loads_ = Loads(mask_, by_count_ ? std::vector<double>(columns_, 1.0) : problem.loads.weights);
  }

  // False when the loads stay above the limits this way, or someone with nothing.
  bool Run() {
    FitColumns(WantedHolders(problem_));
    const int64_t most_steps = 4 * int64_t{workers_} * columns_;
    for (int64_t step = 0; step < most_steps; ++step) {
      const Rank from = FullestRank();
      const Rank to = EmptiestRank();
      if (Even(from, to)) return true;
      const int column = BestColumn(from, to);
      if (column < 0) return WithinLimits();
      Drop(from, column);
      Give(to, column);
    }
    return false;
  }

  const Mask& mask() const { return mask_; }

 private:
  double Weight(int column) const { return by_count_ ? 1.0 : problem_.loads.weights[column]; }
  double Fullness(Rank rank, double load) const {
    return by_count_ ? load : load / std::min(problem_.loads.targets[rank], Limit(rank));
  }
  double Limit(Rank rank) const { return problem_.loads.MostLoad(rank, problem_.worst_load); }

  void Give(Rank rank, int column) {
    mask_.set(rank, column, true);
    loads_[rank] += Weight(column);
    ++held_[rank];
  }
  void Drop(Rank rank, int column) {
    mask_.set(rank, column, false);
    loads_[rank] -= Weight(column);
    --held_[rank];
  }

  // Heaviest columns first, as many holders as wanted: the fullest lose them, the emptiest gain them.
  void FitColumns(const std::vector<int>& wanted) {
    std::vector<int> order(columns_);
    std::iota(order.begin(), order.end(), 0);
    random_.Shuffle(order);
    std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return Weight(a) > Weight(b); });
    std::vector<Rank> ranks(workers_);
    std::iota(ranks.begin(), ranks.end(), 0);
    for (int column : order) {
      random_.Shuffle(ranks);
      int holders = 0;
      for (Rank rank : ranks) holders += mask_.holds(rank, column) ? 1 : 0;
      for (; holders > wanted[column]; --holders) {
        Rank fullest = -1;
        for (Rank rank : ranks) {
          if (!mask_.holds(rank, column)) continue;
          if (fullest < 0 || Fullness(rank, loads_[rank]) > Fullness(fullest, loads_[fullest]))
            fullest = rank;
        }
        Drop(fullest, column);
      }
      for (; holders < wanted[column]; ++holders) {
        Rank emptiest = -1;
        double least = 0;
        for (Rank rank : ranks) {
          if (mask_.holds(rank, column)) continue;
          const double after = Fullness(rank, loads_[rank] + Weight(column));
          if (emptiest >= 0 && after >= least) continue;
          emptiest = rank;
          least = after;
        }
        Give(emptiest, column);
      }
    }
  }

  Rank FullestRank() const {
    Rank fullest = 0;
    for (Rank i = 1; i < workers_; ++i) {
      if (Fullness(i, loads_[i]) > Fullness(fullest, loads_[fullest])) fullest = i;
    }
    return fullest;
  }
  Rank EmptiestRank() const {
    Rank emptiest = 0;
    for (Rank i = 1; i < workers_; ++i) {
      if (Fullness(i, loads_[i]) < Fullness(emptiest, loads_[emptiest])) emptiest = i;
    }
    return emptiest;
  }

  bool WithinLimits() const {
    for (Rank i = 0; i < workers_; ++i) {
      if (held_[i] == 0 || (!by_count_ && loads_[i] > Limit(i) * (1 + kRounding))) return false;
    }
    return true;
  }

  // Whether the fullest and the emptiest worker are balanced.
  bool Even(Rank from, Rank to) const {
    if (by_count_) return held_[from] <= held_[to] + 1;
    return loads_[from] <= Limit(from) * (1 + kRounding) && held_[to] > 0 &&
           Fullness(to, loads_[to]) > 2 - problem_.worst_load;
  }

  // The column whose move from one to the other leaves the fuller of both least full; of equal ones, one that
  // returns to its previous holder or that `from` did not have, then a random one. -1: none helps.
  int BestColumn(Rank from, Rank to) {
    std::vector<int> order(columns_);
    std::iota(order.begin(), order.end(), 0);
    random_.Shuffle(order);
    int best = -1, best_cost = 0;
    double best_fullness = Fullness(from, loads_[from]) * (1 - kRounding);
    for (int column : order) {
      if (!mask_.holds(from, column) || mask_.holds(to, column) || held_[from] < 2) continue;
      const double fullness =
          std::max(Fullness(from, loads_[from] - Weight(column)), Fullness(to, loads_[to] + Weight(column)));
      const int cost =
          (problem_.previous.holds(to, column) ? 0 : 1) + (problem_.previous.holds(from, column) ? 1 : 0);
      if (fullness > best_fullness * (1 + kRounding)) continue;
      if (best >= 0 && fullness > best_fullness * (1 - kRounding) && cost >= best_cost) continue;
      best = column;
      best_cost = cost;
      best_fullness = fullness;
    }
    return best;
  }

  const AdaptProblem& problem_;
  Random& random_;
  const int workers_;
  const int columns_;
  const bool by_count_;
  Mask mask_;
  std::vector<int> held_;
  std::vector<double> loads_;
};

// Size that workers can keep at most, whatever the mask, when only their own limits count.
double KeptByRows(const AdaptProblem& problem) {
  const Mask& previous = problem.previous;
  if (problem.holdings == 0) {
    // In units of load; sizes and loads are taken to be in proportion, which the caller sees to.
    const std::vector<double> had = Loads(previous, problem.loads.weights);
    double kept = 0;
    for (Rank i = 0; i < previous.workers(); ++i) {
      kept += std::min(had[i], problem.loads.MostLoad(i, problem.worst_load));
    }
    return kept;
  }
  const int64_t least = problem.holdings / previous.workers();
  int64_t odd = problem.holdings % previous.workers();
  int64_t kept = 0;
  for (Rank i = 0; i < previous.workers(); ++i) {
    const int64_t had = previous.Held(i);
    kept += std::min(had, least);
    if (had > least && odd > 0) {
      ++kept;
      --odd;
    }
  }
  return static_cast<double>(kept);
}

}  // namespace

double MovedLowerBound(const AdaptProblem& problem) {
  const std::vector<std::vector<Rank>> holders = HolderLists(problem.previous);
  const std::vector<int> wanted = WantedHolders(problem);
  double by_columns = 0, total = 0, load = 0;
  for (size_t b = 0; b < wanted.size(); ++b) {
    by_columns += problem.sizes[b] * std::max(0, wanted[b] - static_cast<int>(holders[b].size()));
    total += problem.sizes[b] * wanted[b];
    if (problem.holdings == 0) load += problem.loads.weights[b] * wanted[b];
  }
  // What is held in the end but cannot have been kept by anyone. By number, at the smallest size; by load, at
  // the smallest size for a load.
  double unit = problem.sizes[0];
  for (size_t b = 0; b < problem.sizes.size(); ++b) {
    const double size = problem.holdings > 0 ? problem.sizes[b] : problem.sizes[b] / problem.loads.weights[b];
    unit = b == 0 ? size : std::min(unit, size);
  }
  const double held = problem.holdings > 0 ? static_cast<double>(problem.holdings) : load;
  // A newcomer takes on something.
  double newcomers = 0;
  const double smallest = *std::min_element(problem.sizes.begin(), problem.sizes.end());
  for (Rank i = 0; i < problem.previous.workers(); ++i) {
    if (problem.previous.Held(i) == 0) newcomers += smallest;
  }
  return std::max({by_columns, newcomers, (held - KeptByRows(problem)) * unit});
}

double MovedSize(const Mask& mask, const Mask& previous, const std::vector<double>& sizes) {
  double moved = 0;
  for (Rank i = 0; i < mask.workers(); ++i) {
    for (int b = 0; b < mask.columns(); ++b) {
      if (mask.holds(i, b) && !previous.holds(i, b)) moved += sizes[b];
    }
  }
  return moved;
}

absl::optional<Mask> AdaptMask(const AdaptProblem& problem, double moved_share, uint64_t seed) {
  Random random(MixBits(seed ^ 0x61646170));
  Repair first(problem, random);
  if (!first.Run()) return absl::nullopt;
  const double repaired = MovedSize(first.mask(), problem.previous, problem.sizes);

  SearchLimits limits;
  limits.previous = problem.previous;
  limits.moved_limit = std::max(moved_share * MovedLowerBound(problem), repaired);
  if (problem.holdings == 0) {
    limits.weights = problem.loads.weights;
    for (Rank i = 0; i < problem.previous.workers(); ++i) {
      limits.load_limits.push_back(problem.loads.MostLoad(i, problem.worst_load));
    }
  }
  const auto start = [&](Random& start_random) {
    Repair repair(problem, start_random);
    const bool fits =
        repair.Run() && MovedSize(repair.mask(), problem.previous, problem.sizes) <= limits.moved_limit;
    return fits ? repair.mask() : first.mask();
  };
  return SearchGap(problem.sizes, limits, start, seed);
}

}  // namespace sdp
