#include "coordinator/planning/search/load_balance.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "common/base/random.h"

namespace sdp {
namespace {

constexpr double kRounding = 1e-9;
constexpr int64_t kNodes = 20'000;
constexpr int kSearchedEntries = 400;  // workers x components up to which branch and bound is worth trying
constexpr int64_t kMoves = 200'000;
constexpr int64_t kMovesPerEntry = 100;

// Components and their holders while loads are evened out.
class Balancer {
 public:
  Balancer(const LoadProblem& problem, Random& random)
      : problem_(problem),
        random_(random),
        workers_(static_cast<int>(problem.targets.size())),
        columns_(static_cast<int>(problem.weights.size())),
        mask_(workers_, columns_),
        loads_(workers_, 0.0),
        held_(workers_, 0) {}

  // Heaviest components first, each onto the workers that it leaves furthest below their targets and limits.
  void PlaceHeaviestFirst() {
    std::vector<int> order(columns_);
    std::iota(order.begin(), order.end(), 0);
    random_.Shuffle(order);
    std::stable_sort(order.begin(), order.end(),
                     [&](int a, int b) { return problem_.weights[a] > problem_.weights[b]; });
    std::vector<Rank> ranks(workers_);
    std::iota(ranks.begin(), ranks.end(), 0);
    std::vector<double> key(workers_);
    for (int column : order) {
      for (Rank i = 0; i < workers_; ++i) {
        const double load = loads_[i] + problem_.weights[column];
        key[i] = load / problem_.targets[i] + (load > Limit(i) ? 1e6 : 0.0);
      }
      random_.Shuffle(ranks);
      std::stable_sort(ranks.begin(), ranks.end(), [&](Rank a, Rank b) { return key[a] < key[b]; });
      for (int i = 0; i < problem_.holders[column]; ++i) Give(ranks[i], column);
    }
  }

  // Whoever has nothing takes over the lightest component that fits from someone who has more.
  void FeedEmpty() {
    std::vector<int> lightest_first(columns_);
    std::iota(lightest_first.begin(), lightest_first.end(), 0);
    std::stable_sort(lightest_first.begin(), lightest_first.end(),
                     [&](int a, int b) { return problem_.weights[a] < problem_.weights[b]; });
    for (Rank empty = 0; empty < workers_; ++empty) {
      for (size_t at = 0; held_[empty] == 0 && at < lightest_first.size(); ++at) {
        const int column = lightest_first[at];
        const Rank giver = FullestThatCanSpare(column);
        if (giver < 0 || problem_.weights[column] > Limit(empty)) continue;
        Drop(giver, column);
        Give(empty, column);
      }
    }
  }

  void Take(const Mask& mask) {
    for (Rank i = 0; i < workers_; ++i) {
      for (int b = 0; b < columns_; ++b) {
        if (mask.holds(i, b)) Give(i, b);
      }
    }
  }

  // Anneals the squared distances from the targets, with what exceeds limits counted much higher.
  void Anneal(int64_t moves) {
    double temperature = 0.1 * Mean(problem_.weights) / Mean(problem_.targets);
    const double cooling = std::pow(1e-5, 1.0 / static_cast<double>(moves));
    for (int64_t i = 0; i < moves; ++i, temperature *= cooling) Try(temperature);
  }

  // Everyone holds something, within the limits.
  bool Feasible() const {
    for (Rank i = 0; i < workers_; ++i) {
      if (held_[i] == 0 || loads_[i] > Limit(i)) return false;
    }
    return true;
  }

  const Mask& mask() const { return mask_; }

 private:
  static double Mean(const std::vector<double>& values) {
    return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
  }

  double Limit(Rank rank) const { return problem_.limits[rank] * (1 + kRounding); }

  void Give(Rank rank, int column) {
    mask_.set(rank, column, true);
    loads_[rank] += problem_.weights[column];
    ++held_[rank];
  }

  void Drop(Rank rank, int column) {
    mask_.set(rank, column, false);
    loads_[rank] -= problem_.weights[column];
    --held_[rank];
  }

  // The holder of `column` furthest above its target among those that hold more than it; -1: none.
  Rank FullestThatCanSpare(int column) const {
    Rank fullest = -1;
    for (Rank i = 0; i < workers_; ++i) {
      if (!mask_.holds(i, column) || held_[i] < 2) continue;
      if (fullest < 0 || loads_[i] / problem_.targets[i] > loads_[fullest] / problem_.targets[fullest]) {
        fullest = i;
      }
    }
    return fullest;
  }

  double Penalty(Rank rank, double load, int held) const {
    const double target = problem_.targets[rank];
    const double off = load / target - 1;
    const double over = std::max(0.0, load - Limit(rank)) / target;
    return off * off + 1000 * over + (held == 0 ? 1000 : 0);
  }

  // Moves a component from one worker to another, mostly in exchange for one that goes back.
  void Try(double temperature) {
    const Rank i = static_cast<Rank>(random_.Below(workers_));
    const Rank j = static_cast<Rank>(random_.Below(workers_));
    const int a = static_cast<int>(random_.Below(columns_));
    if (i == j || !mask_.holds(i, a) || mask_.holds(j, a)) return;
    int b = static_cast<int>(random_.Below(columns_ + columns_ / 3 + 1));
    if (b >= columns_) b = -1;
    if (b >= 0 && (!mask_.holds(j, b) || mask_.holds(i, b))) return;
    if (b < 0 && held_[i] == 1) return;  // it would be left with nothing
    const double shift = problem_.weights[a] - (b >= 0 ? problem_.weights[b] : 0.0);
    const int count = b >= 0 ? 0 : 1;
    const double change = Penalty(i, loads_[i] - shift, held_[i] - count) +
                          Penalty(j, loads_[j] + shift, held_[j] + count) - Penalty(i, loads_[i], held_[i]) -
                          Penalty(j, loads_[j], held_[j]);
    if (change > kRounding && random_.Unit() >= std::exp(-change / temperature)) return;
    Drop(i, a);
    Give(j, a);
    if (b < 0) return;
    Drop(j, b);
    Give(i, b);
  }

  const LoadProblem& problem_;
  Random& random_;
  const int workers_;
  const int columns_;
  Mask mask_;
  std::vector<double> loads_;
  std::vector<int> held_;
};

}  // namespace

std::vector<double> Loads(const Mask& mask, const std::vector<double>& weights) {
  std::vector<double> loads(mask.workers(), 0.0);
  for (Rank i = 0; i < mask.workers(); ++i) {
    for (int b = 0; b < mask.columns(); ++b) loads[i] += mask.holds(i, b) ? weights[b] : 0.0;
  }
  return loads;
}

double WorstLoad(const Mask& mask, const LoadProblem& problem) {
  const std::vector<double> loads = Loads(mask, problem.weights);
  double worst = 0;
  for (size_t i = 0; i < loads.size(); ++i) worst = std::max(worst, loads[i] / problem.targets[i]);
  return worst;
}

std::vector<double> ShareLoad(double total, const std::vector<double>& most,
                              const std::vector<double>& capacities) {
  // Those that would get more than they can take are set to that, and the rest is shared among the others:
  // again until nobody is above.
  std::vector<double> shares(capacities.size(), -1.0);
  for (bool capped = true; capped;) {
    capped = false;
    double rest = total, open = 0;
    for (size_t i = 0; i < shares.size(); ++i) {
      if (shares[i] >= 0) rest -= shares[i];
      if (shares[i] < 0) open += capacities[i];
    }
    for (size_t i = 0; i < shares.size(); ++i) {
      if (shares[i] >= 0 || rest * capacities[i] / open < most[i]) continue;
      shares[i] = most[i];
      capped = true;
    }
    if (capped) continue;
    for (size_t i = 0; i < shares.size(); ++i) {
      if (shares[i] < 0) shares[i] = rest * capacities[i] / open;
    }
  }
  return shares;
}

absl::optional<Mask> BalanceLoads(const LoadProblem& problem, uint64_t seed, SearchOutcome* outcome) {
  const int64_t entries = static_cast<int64_t>(problem.targets.size() * problem.weights.size());
  Random random(MixBits(seed));
  absl::optional<Mask> best;
  *outcome = SearchOutcome::kGaveUp;
  for (int start = 0; start < 4; ++start) {
    Balancer balancer(problem, random);
    balancer.PlaceHeaviestFirst();
    balancer.FeedEmpty();
    balancer.Anneal(std::min(kMoves, kMovesPerEntry * entries + 2000));
    if (!balancer.Feasible()) continue;
    if (!best || WorstLoad(balancer.mask(), problem) < WorstLoad(*best, problem)) best = balancer.mask();
    if (WorstLoad(*best, problem) < kGoodBalance) break;
  }
  if ((best && WorstLoad(*best, problem) < kGoodBalance) || entries > kSearchedEntries) {
    if (best) *outcome = SearchOutcome::kFound;
    return best;
  }
  for (double worst :
       {0.999 * kGoodBalance, 1e9}) {  // the balance that is wanted, then any within the limits
    if (best && worst > kGoodBalance) break;
    Mask found;
    const SearchOutcome searched = BranchAndBound(problem, worst, kNodes, &found);
    if (worst > kGoodBalance) *outcome = searched;
    if (searched != SearchOutcome::kFound) continue;
    // Nobody may be left with nothing.
    Balancer balancer(problem, random);
    balancer.Take(found);
    balancer.FeedEmpty();
    if (!balancer.Feasible()) balancer.Anneal(kMovesPerEntry * entries + 2000);
    if (balancer.Feasible() && (!best || WorstLoad(balancer.mask(), problem) < WorstLoad(*best, problem))) {
      best = balancer.mask();
    }
  }
  if (best) *outcome = SearchOutcome::kFound;
  return best;
}

}  // namespace sdp
