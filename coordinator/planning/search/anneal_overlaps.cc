#include <cmath>
#include <vector>

#include "Eigen/Core"
#include "coordinator/planning/search/mask_search.h"

namespace sdp {
namespace {

// Differences of energy below this are rounding; treating them as none keeps the search the same on
// platforms that round differently.
constexpr double kNoise = 1e-10;

// W of the state's mask (docs/method.md), and tr T^2 = sum_ij W_ij^2 / (P_i P_j) by parts.
class OverlapEnergy {
 public:
  explicit OverlapEnergy(MaskState& state) : state_(state), touched_(state.mask().workers(), 0) {
    const int workers = state.mask().workers();
    overlap_ = Eigen::MatrixXd::Zero(workers, workers);
    // W = A A^T with A_ib = m_ib sqrt(p_b / k_b).
    Eigen::MatrixXd factor = Eigen::MatrixXd::Zero(state.mask().workers(), state.mask().columns());
    for (int column = 0; column < state.mask().columns(); ++column) {
      const std::vector<Rank>& holders = state.holders(column);
      const double root = std::sqrt(state.sizes()[column] / static_cast<double>(holders.size()));
      for (Rank rank : holders) factor(rank, column) = root;
    }
    overlap_.selfadjointView<Eigen::Lower>().rankUpdate(factor);
    overlap_.triangularView<Eigen::StrictlyUpper>() = overlap_.transpose();
  }

  // Energy of all pairs.
  double Total() const {
    double energy = 0;
    for (Rank i = 0; i < overlap_.rows(); ++i) energy += RowEnergy(i, 1.0);
    return energy;
  }

  // Energy of all pairs of a rank with itself: all but this can be lowered.
  double Diagonal() const {
    double energy = 0;
    for (Rank i = 0; i < overlap_.rows(); ++i) {
      const double t = overlap_(i, i) / state_.held_size(i);
      energy += t * t;
    }
    return energy;
  }

  // Applies the move; returns the change of the energy.
  double Apply(const MaskMove& move) {
    CollectTouched(move);
    const double before = TouchedEnergy();
    for (int c = 0; c < move.count; ++c) ChangeColumn(move.changes[c]);
    const double after = TouchedEnergy();
    for (Rank rank : touched_ranks_) touched_[rank] = 0;
    return after - before;
  }

 private:
  // Adds `sign` times the column's share of W.
  void AddPairs(int column, double sign) {
    const std::vector<Rank>& holders = state_.holders(column);
    const double weight = sign * state_.sizes()[column] / static_cast<double>(holders.size());
    for (Rank i : holders) {
      for (Rank j : holders) overlap_(i, j) += weight;
    }
  }

  // Adds `weight` to the pairs of `rank` with the column's holders and, once, with itself.
  void AddRow(int column, Rank rank, double weight) {
    for (Rank other : state_.holders(column)) {
      overlap_(rank, other) += weight;
      if (other != rank) overlap_(other, rank) += weight;
    }
  }

  void ChangeColumn(const ColumnChange& change) {
    const MaskMove move{{change, {}, {}}, 1};
    if (change.leaves >= 0 && change.joins >= 0) {  // the number of holders stays: only two rows change
      const double weight =
          state_.sizes()[change.column] / static_cast<double>(state_.holders(change.column).size());
      AddRow(change.column, change.leaves, -weight);
      state_.Apply(move);
      AddRow(change.column, change.joins, weight);
      return;
    }
    AddPairs(change.column, -1.0);
    state_.Apply(move);
    AddPairs(change.column, 1.0);
  }

  void Touch(Rank rank) {
    if (touched_[rank] != 0) return;
    touched_[rank] = 1;
    touched_ranks_.push_back(rank);
  }

  // The ranks whose row of W or whose P changes with the move.
  void CollectTouched(const MaskMove& move) {
    touched_ranks_.clear();
    for (int c = 0; c < move.count; ++c) {
      const ColumnChange& change = move.changes[c];
      if (change.leaves >= 0) Touch(change.leaves);
      if (change.joins >= 0) Touch(change.joins);
      if (change.leaves >= 0 && change.joins >= 0) continue;
      for (Rank rank : state_.holders(change.column)) Touch(rank);
    }
  }

  // Energy of the pairs that have a touched rank.
  double TouchedEnergy() const {
    double energy = 0;
    for (Rank rank : touched_ranks_) energy += RowEnergy(rank, 2.0);
    return energy;
  }

  // Row `i` of the energy; pairs with an untouched rank count `untouched` times.
  double RowEnergy(Rank i, double untouched) const {
    double energy = 0;
    for (Rank j = 0; j < overlap_.rows(); ++j) {
      const double w = overlap_(j, i);  // symmetric; columns are contiguous
      energy += (touched_[j] != 0 ? 1.0 : untouched) * w * w / state_.held_size(j);
    }
    return energy / state_.held_size(i);
  }

  MaskState& state_;
  Eigen::MatrixXd overlap_;  // W
  std::vector<char> touched_;
  std::vector<Rank> touched_ranks_;
};

}  // namespace

void AnnealOverlaps(MaskState& state, int64_t moves, Random& random) {
  // Cooled geometrically: at first a typical move is accepted about every other time, at the end almost none
  // that raises the energy.
  constexpr double kFirstTemperature = 1.0 / 8;
  constexpr double kCooling = 1.0 / 200;
  OverlapEnergy energy(state);
  double temperature =
      kFirstTemperature * (energy.Total() - energy.Diagonal()) / static_cast<double>(state.mask().workers());
  const double factor = std::pow(kCooling, 1.0 / static_cast<double>(moves));
  for (int64_t i = 0; i < moves; ++i, temperature *= factor) {
    const absl::optional<MaskMove> move = state.Propose(random);
    if (!move) continue;
    const double change = energy.Apply(*move);
    if (change > kNoise && random.Unit() >= std::exp(-change / temperature)) energy.Apply(move->Inverse());
  }
}

int64_t AnnealMoveWork(int workers, int64_t holdings, int columns) {
  return 8 * (workers + holdings / columns);
}

int64_t AnnealSetUpWork(int workers, int columns) {
  return int64_t{workers} * workers * columns / 8;  // multiply-adds of dense matrices run faster
}

}  // namespace sdp
