// A mask under search, and the small changes that keep it balanced.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "absl/types/optional.h"
#include "common/base/ids.h"
#include "common/base/random.h"
#include "common/model/mask.h"

namespace sdp {

// One column loses a holder, gains one, or both. -1: none.
struct ColumnChange {
  int column = 0;
  Rank leaves = -1;
  Rank joins = -1;
};

// Changes of different columns that are made together.
struct MaskMove {
  ColumnChange changes[3];
  int count = 0;

  MaskMove Inverse() const;
};

// What a search must keep besides the numbers of holders and components.
struct SearchLimits {
  // Loads instead of numbers of components: of each column, and the most that each rank may hold. Empty: the
  // numbers of columns of any two ranks differ by at most one.
  std::vector<double> weights;
  std::vector<double> load_limits;
  // The mask before a change, with an empty row for a rank that is new, and the size of the components that
  // may be held where they were not held then. No workers: no such limit.
  Mask previous;
  double moved_limit = 0;
};

// A mask with its sums, and random moves that keep it within the limits.
class MaskState {
 public:
  // Every column must have a holder. `sizes` are the component sizes by column.
  MaskState(Mask mask, std::vector<double> sizes, SearchLimits limits = {});

  const Mask& mask() const { return mask_; }
  const std::vector<double>& sizes() const { return sizes_; }
  const std::vector<Rank>& holders(int column) const { return holders_[column]; }  // in no order
  double held_size(Rank rank) const { return held_size_[rank]; }                   // P_i
  double moved_size() const { return moved_; }                                     // held, but not before

  // A random move after which the mask is still balanced and within its limits: two ranks swap two columns,
  // or an odd holding goes from one rank or from one column to another; with loads also one column for two,
  // or for none. None when the draw does not fit: draw again.
  absl::optional<MaskMove> Propose(Random& random) const;
  void Apply(const MaskMove& move);

 private:
  bool by_load() const { return !limits_.weights.empty(); }
  bool has_previous() const { return limits_.previous.workers() > 0; }
  absl::optional<MaskMove> Draw(Random& random) const;
  absl::optional<MaskMove> ProposeSwap(Random& random) const;
  absl::optional<MaskMove> ProposeRankMove(Random& random) const;
  absl::optional<MaskMove> ProposeColumnMove(Random& random) const;
  absl::optional<MaskMove> ProposeOneForTwo(Random& random) const;
  absl::optional<MaskMove> ProposeReturn(Random& random) const;
  bool Fits(const MaskMove& move) const;
  Rank RandomHolder(int column, Random& random) const;
  int RandomColumnOf(Rank rank, Random& random) const;
  void Give(Rank rank, int column);
  void Take(Rank rank, int column);

  Mask mask_;
  std::vector<double> sizes_;
  SearchLimits limits_;
  std::vector<std::vector<Rank>> holders_;
  std::vector<std::vector<int>> columns_of_;  // by rank, in no order
  std::vector<double> held_size_;
  std::vector<double> loads_;  // with loads only
  double moved_ = 0;
  std::vector<std::vector<Rank>> had_;       // holders before; with a previous mask only
  std::vector<std::pair<Rank, int>> fresh_;  // holdings that were not there before
  std::vector<int> fresh_at_;                // index into fresh_ by entry of the mask, or -1
  bool ranks_differ_ = false;                // in the number of columns that they hold
  bool columns_differ_ = false;              // in the number of their holders
  uint64_t column_rarity_ = 1;               // how many times more rarely moves that change it are tried
};

}  // namespace sdp
