#include "coordinator/planning/search/mask_state.h"

#include <algorithm>

#include "coordinator/planning/spectrum/averaging_factor.h"

namespace sdp {
namespace {

// Sums of sizes and loads in different orders: less than this share is rounding.
constexpr double kRounding = 1e-9;

template <typename T>
void EraseUnordered(std::vector<T>& items, const T& item) {
  *std::find(items.begin(), items.end(), item) = items.back();
  items.pop_back();
}

}  // namespace

MaskMove MaskMove::Inverse() const {
  MaskMove inverse = *this;
  for (ColumnChange& change : inverse.changes) std::swap(change.leaves, change.joins);
  return inverse;
}

MaskState::MaskState(Mask mask, std::vector<double> sizes, SearchLimits limits)
    : mask_(std::move(mask)),
      sizes_(std::move(sizes)),
      limits_(std::move(limits)),
      holders_(HolderLists(mask_)),
      columns_of_(mask_.workers()),
      held_size_(mask_.workers(), 0.0),
      loads_(by_load() ? mask_.workers() : 0, 0.0) {
  if (has_previous()) {
    had_ = HolderLists(limits_.previous);
    fresh_at_.assign(static_cast<size_t>(mask_.workers()) * mask_.columns(), -1);
  }
  for (int column = 0; column < mask_.columns(); ++column) {
    for (Rank rank : std::vector<Rank>(std::move(holders_[column]))) Give(rank, column);
    columns_differ_ = columns_differ_ || holders_[column].size() != holders_[0].size();
  }
  // A move that changes a column's number of holders changes the weights of all of them. It is tried so much
  // more rarely that it takes about as much work as the swaps between.
  constexpr size_t kFewHolders = 8;
  column_rarity_ = std::max<uint64_t>(1, holders_[0].size() / kFewHolders);
  for (const std::vector<int>& columns : columns_of_) {
    ranks_differ_ = ranks_differ_ || columns.size() != columns_of_[0].size();
  }
}

Rank MaskState::RandomHolder(int column, Random& random) const {
  return holders_[column][random.Below(holders_[column].size())];
}

int MaskState::RandomColumnOf(Rank rank, Random& random) const {
  return columns_of_[rank][random.Below(columns_of_[rank].size())];
}

absl::optional<MaskMove> MaskState::Propose(Random& random) const {
  absl::optional<MaskMove> move = Draw(random);
  if (move && (by_load() || has_previous()) && !Fits(*move)) return absl::nullopt;
  return move;
}

absl::optional<MaskMove> MaskState::Draw(Random& random) const {
  if (!fresh_.empty() && random.Below(2) == 0) return ProposeReturn(random);
  // One draw in four tries each kind of uneven holding that there is.
  const uint64_t kind = random.Below(4);
  if (kind == 0 && (by_load() || ranks_differ_)) return ProposeRankMove(random);
  if (kind == 1 && columns_differ_ && (column_rarity_ == 1 || random.Below(column_rarity_) == 0)) {
    return ProposeColumnMove(random);
  }
  if (kind == 2 && by_load()) return ProposeOneForTwo(random);
  return ProposeSwap(random);
}

absl::optional<MaskMove> MaskState::ProposeSwap(Random& random) const {
  const int a = static_cast<int>(random.Below(holders_.size()));
  const int b = static_cast<int>(random.Below(holders_.size()));
  const Rank i = RandomHolder(a, random);
  const Rank j = RandomHolder(b, random);
  if (mask_.holds(i, b) || mask_.holds(j, a)) return absl::nullopt;
  return MaskMove{{{a, i, j}, {b, j, i}, {}}, 2};
}

absl::optional<MaskMove> MaskState::ProposeRankMove(Random& random) const {
  const int column = static_cast<int>(random.Below(holders_.size()));
  const Rank i = RandomHolder(column, random);
  const Rank j = static_cast<Rank>(random.Below(columns_of_.size()));
  if (mask_.holds(j, column) || columns_of_[i].size() < 2) return absl::nullopt;
  if (!by_load() && columns_of_[i].size() != columns_of_[j].size() + 1) return absl::nullopt;
  return MaskMove{{{column, i, j}, {}, {}}, 1};
}

absl::optional<MaskMove> MaskState::ProposeColumnMove(Random& random) const {
  const int a = static_cast<int>(random.Below(holders_.size()));
  const int b = static_cast<int>(random.Below(holders_.size()));
  const Rank i = RandomHolder(a, random);
  if (mask_.holds(i, b) || holders_[a].size() != holders_[b].size() + 1) return absl::nullopt;
  return MaskMove{{{a, i, -1}, {b, -1, i}, {}}, 2};
}

absl::optional<MaskMove> MaskState::ProposeOneForTwo(Random& random) const {
  const int a = static_cast<int>(random.Below(holders_.size()));
  const Rank i = RandomHolder(a, random);
  const Rank j = static_cast<Rank>(random.Below(columns_of_.size()));
  if (mask_.holds(j, a)) return absl::nullopt;
  const int b = RandomColumnOf(j, random);
  const int c = RandomColumnOf(j, random);
  if (b == c || mask_.holds(i, b) || mask_.holds(i, c)) return absl::nullopt;
  return MaskMove{{{a, i, j}, {b, j, i}, {c, j, i}}, 3};
}

// A swap that gives up a holding which is new: mostly to someone who had it before.
absl::optional<MaskMove> MaskState::ProposeReturn(Random& random) const {
  const auto [j, a] = fresh_[random.Below(fresh_.size())];
  Rank i;
  if (!had_[a].empty() && random.Below(4) != 0) {
    i = had_[a][random.Below(had_[a].size())];
  } else {
    i = fresh_[random.Below(fresh_.size())].first;
  }
  if (i == j || mask_.holds(i, a)) return absl::nullopt;
  const int b = RandomColumnOf(i, random);
  if (mask_.holds(j, b)) return absl::nullopt;
  return MaskMove{{{a, j, i}, {b, i, j}, {}}, 2};
}

bool MaskState::Fits(const MaskMove& move) const {
  if (has_previous()) {
    double change = 0;
    for (int c = 0; c < move.count; ++c) {
      const auto [column, leaves, joins] = move.changes[c];
      if (joins >= 0 && !limits_.previous.holds(joins, column)) change += sizes_[column];
      if (leaves >= 0 && !limits_.previous.holds(leaves, column)) change -= sizes_[column];
    }
    if (change > 0 && moved_ + change > limits_.moved_limit * (1 + kRounding)) return false;
  }
  if (!by_load()) return true;
  for (int c = 0; c < move.count; ++c) {
    const Rank rank = move.changes[c].joins;
    if (rank < 0) continue;
    double load = loads_[rank];
    for (int d = 0; d < move.count; ++d) {
      if (move.changes[d].joins == rank) load += limits_.weights[move.changes[d].column];
      if (move.changes[d].leaves == rank) load -= limits_.weights[move.changes[d].column];
    }
    if (load > loads_[rank] && load > limits_.load_limits[rank] * (1 + kRounding)) return false;
  }
  return true;
}

void MaskState::Give(Rank rank, int column) {
  mask_.set(rank, column, true);
  holders_[column].push_back(rank);
  columns_of_[rank].push_back(column);
  held_size_[rank] += sizes_[column];
  if (by_load()) loads_[rank] += limits_.weights[column];
  if (!has_previous() || limits_.previous.holds(rank, column)) return;
  moved_ += sizes_[column];
  fresh_at_[static_cast<size_t>(rank) * mask_.columns() + column] = static_cast<int>(fresh_.size());
  fresh_.emplace_back(rank, column);
}

void MaskState::Take(Rank rank, int column) {
  mask_.set(rank, column, false);
  EraseUnordered(holders_[column], rank);
  EraseUnordered(columns_of_[rank], column);
  held_size_[rank] -= sizes_[column];
  if (by_load()) loads_[rank] -= limits_.weights[column];
  if (!has_previous() || limits_.previous.holds(rank, column)) return;
  moved_ -= sizes_[column];
  int& at = fresh_at_[static_cast<size_t>(rank) * mask_.columns() + column];
  const auto [last_rank, last_column] = fresh_.back();
  fresh_[at] = fresh_.back();
  fresh_at_[static_cast<size_t>(last_rank) * mask_.columns() + last_column] = at;
  at = -1;
  fresh_.pop_back();
}

void MaskState::Apply(const MaskMove& move) {
  for (int c = 0; c < move.count; ++c) {
    const auto [column, leaves, joins] = move.changes[c];
    if (leaves >= 0) Take(leaves, column);
    if (joins >= 0) Give(joins, column);
  }
}

}  // namespace sdp
