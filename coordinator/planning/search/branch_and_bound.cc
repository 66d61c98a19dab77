#include <algorithm>
#include <numeric>
#include <set>
#include <utility>

#include "coordinator/planning/search/load_balance.h"

namespace sdp {
namespace {

// Loads are sums in different orders: what differs by less than this share is rounding.
constexpr double kRounding = 1e-9;

class Search {
 public:
  Search(const LoadProblem& problem, double worst, int64_t nodes)
      : problem_(problem),
        workers_(static_cast<int>(problem.targets.size())),
        nodes_left_(nodes),
        room_(workers_),
        left_(problem.weights.size() + 1, 0.0),
        order_(problem.weights.size()),
        mask_(workers_, static_cast<int>(problem.weights.size())) {
    for (Rank i = 0; i < workers_; ++i) {
      room_[i] = problem.MostLoad(i, worst) * (1 + kRounding);
    }
    std::iota(order_.begin(), order_.end(), 0);
    std::stable_sort(order_.begin(), order_.end(),
                     [&](int a, int b) { return problem.weights[a] > problem.weights[b]; });
    for (size_t depth = order_.size(); depth-- > 0;) {
      left_[depth] = left_[depth + 1] + problem.weights[order_[depth]] * problem.holders[order_[depth]];
    }
  }

  SearchOutcome Run(Mask* mask) {
    if (Place(0)) {
      *mask = mask_;
      return SearchOutcome::kFound;
    }
    return nodes_left_ > 0 ? SearchOutcome::kImpossible : SearchOutcome::kGaveUp;
  }

 private:
  // Places the components from `depth` on. What is left depends on the rooms alone, not on who has them: a
  // set of rooms that failed once is not tried again.
  bool Place(size_t depth) {
    if (depth == order_.size()) return true;
    if (--nodes_left_ <= 0) return false;
    std::vector<double> rooms = room_;
    std::sort(rooms.begin(), rooms.end());
    if (std::accumulate(rooms.begin(), rooms.end(), 0.0) < left_[depth] * (1 - kRounding)) return false;
    if (failed_.count({depth, rooms}) > 0) return false;
    std::vector<Rank> ranks(workers_);
    std::iota(ranks.begin(), ranks.end(), 0);
    std::stable_sort(ranks.begin(), ranks.end(), [&](Rank a, Rank b) { return room_[a] > room_[b]; });
    if (Choose(depth, ranks, 0, problem_.holders[order_[depth]])) return true;
    if (nodes_left_ > 0) failed_.insert({depth, std::move(rooms)});
    return false;
  }

  // Gives the component of `depth` to `wanted` more of ranks[next ..], roomiest first. Of ranks with the same
  // room, only the first ones are tried.
  bool Choose(size_t depth, const std::vector<Rank>& ranks, size_t next, int wanted) {
    if (wanted == 0) return Place(depth + 1);
    const int column = order_[depth];
    const double weight = problem_.weights[column];
    for (size_t i = next; i + wanted <= ranks.size(); ++i) {
      const Rank rank = ranks[i];
      if (room_[rank] < weight) return false;  // and so have all that follow
      if (i > next && room_[rank] == room_[ranks[i - 1]]) continue;
      mask_.set(rank, column, true);
      room_[rank] -= weight;
      const bool found = Choose(depth, ranks, i + 1, wanted - 1);
      room_[rank] += weight;
      if (found) return true;
      mask_.set(rank, column, false);
      if (nodes_left_ <= 0) return false;
    }
    return false;
  }

  const LoadProblem& problem_;
  const int workers_;
  int64_t nodes_left_;
  std::vector<double> room_;  // by rank
  std::vector<double> left_;  // load of the components from a depth on
  std::vector<int> order_;    // components, heaviest first
  Mask mask_;
  std::set<std::pair<size_t, std::vector<double>>> failed_;
};

}  // namespace

SearchOutcome BranchAndBound(const LoadProblem& problem, double worst, int64_t nodes, Mask* mask) {
  return Search(problem, worst, nodes).Run(mask);
}

}  // namespace sdp
