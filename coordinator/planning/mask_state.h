// A mask under search, and the small changes that keep it balanced.
#pragma once

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

// Changes of one or two columns that are made together.
struct MaskMove {
  ColumnChange changes[2];
  int count = 0;

  MaskMove Inverse() const;
};

// A balanced mask (holders per column and columns per rank each differ by at most one) and its sums.
class MaskState {
 public:
  // Every column must have a holder. `sizes` are the component sizes by column.
  MaskState(Mask mask, std::vector<double> sizes);

  const Mask& mask() const { return mask_; }
  const std::vector<double>& sizes() const { return sizes_; }
  const std::vector<Rank>& holders(int column) const { return holders_[column]; }  // in no order
  double held_size(Rank rank) const { return held_size_[rank]; }                   // P_i

  // A random move after which the mask is still balanced: two ranks swap two columns, or an odd holding goes
  // from one rank or from one column to another. None when the draw does not fit: draw again.
  absl::optional<MaskMove> Propose(Random& random) const;
  void Apply(const MaskMove& move);

 private:
  absl::optional<MaskMove> ProposeSwap(Random& random) const;
  absl::optional<MaskMove> ProposeRankMove(Random& random) const;
  absl::optional<MaskMove> ProposeColumnMove(Random& random) const;
  Rank RandomHolder(int column, Random& random) const;

  Mask mask_;
  std::vector<double> sizes_;
  std::vector<std::vector<Rank>> holders_;
  std::vector<int> held_;  // columns held, by rank
  std::vector<double> held_size_;
  bool ranks_differ_ = false;    // in the number of columns that they hold
  bool columns_differ_ = false;  // in the number of their holders
};

}  // namespace sdp
