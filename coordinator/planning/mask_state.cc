#include "coordinator/planning/mask_state.h"

#include <algorithm>
#include <utility>

namespace sdp {

MaskMove MaskMove::Inverse() const {
  MaskMove inverse = *this;
  for (ColumnChange& change : inverse.changes) std::swap(change.leaves, change.joins);
  return inverse;
}

MaskState::MaskState(Mask mask, std::vector<double> sizes)
    : mask_(std::move(mask)),
      sizes_(std::move(sizes)),
      held_(mask_.workers()),
      held_size_(mask_.workers(), 0.0) {
  for (int column = 0; column < mask_.columns(); ++column) {
    holders_.push_back(mask_.Holders(column));
    for (Rank rank : holders_.back()) {
      ++held_[rank];
      held_size_[rank] += sizes_[column];
    }
    columns_differ_ = columns_differ_ || holders_[column].size() != holders_[0].size();
  }
  for (int held : held_) ranks_differ_ = ranks_differ_ || held != held_[0];
}

Rank MaskState::RandomHolder(int column, Random& random) const {
  return holders_[column][random.Below(holders_[column].size())];
}

absl::optional<MaskMove> MaskState::Propose(Random& random) const {
  // One draw in four tries each kind of uneven holding that there is.
  const uint64_t kind = random.Below(4);
  if (kind == 0 && ranks_differ_) return ProposeRankMove(random);
  if (kind == 1 && columns_differ_) return ProposeColumnMove(random);
  return ProposeSwap(random);
}

absl::optional<MaskMove> MaskState::ProposeSwap(Random& random) const {
  const int a = static_cast<int>(random.Below(holders_.size()));
  const int b = static_cast<int>(random.Below(holders_.size()));
  const Rank i = RandomHolder(a, random);
  const Rank j = RandomHolder(b, random);
  if (mask_.holds(i, b) || mask_.holds(j, a)) return absl::nullopt;
  return MaskMove{{{a, i, j}, {b, j, i}}, 2};
}

absl::optional<MaskMove> MaskState::ProposeRankMove(Random& random) const {
  const int column = static_cast<int>(random.Below(holders_.size()));
  const Rank i = RandomHolder(column, random);
  const Rank j = static_cast<Rank>(random.Below(held_.size()));
  if (mask_.holds(j, column) || held_[i] != held_[j] + 1) return absl::nullopt;
  return MaskMove{{{column, i, j}, {}}, 1};
}

absl::optional<MaskMove> MaskState::ProposeColumnMove(Random& random) const {
  const int a = static_cast<int>(random.Below(holders_.size()));
  const int b = static_cast<int>(random.Below(holders_.size()));
  const Rank i = RandomHolder(a, random);
  if (mask_.holds(i, b) || holders_[a].size() != holders_[b].size() + 1) return absl::nullopt;
  return MaskMove{{{a, i, -1}, {b, -1, i}}, 2};
}

void MaskState::Apply(const MaskMove& move) {
  for (int c = 0; c < move.count; ++c) {
    const auto [column, leaves, joins] = move.changes[c];
    std::vector<Rank>& holders = holders_[column];
    if (leaves >= 0) {
      mask_.set(leaves, column, false);
      *std::find(holders.begin(), holders.end(), leaves) = holders.back();
      holders.pop_back();
      --held_[leaves];
      held_size_[leaves] -= sizes_[column];
    }
    if (joins >= 0) {
      mask_.set(joins, column, true);
      holders.push_back(joins);
      ++held_[joins];
      held_size_[joins] += sizes_[column];
    }
  }
}

}  // namespace sdp
