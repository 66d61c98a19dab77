// Masks that are too large to draw one cell for each worker and block.
#pragma once

#include <string>
#include <vector>

#include "sdp/v1/plan.pb.h"

namespace sdp::cli {

// A mask in cells of neighbouring ranks x neighbouring components.
struct FoldedMask {
  int ranks = 0;
  int components = 0;
  int ranks_per_row = 1;
  int components_per_column = 1;
  // By row, then column: the held share of the cell's entries, 0 to 1.
  std::vector<std::vector<double>> shares;

  // Whether a cell stands for more than one worker and component.
  bool folded() const { return ranks_per_row > 1 || components_per_column > 1; }
  int rows() const { return static_cast<int>(shares.size()); }
  int columns() const { return shares.empty() ? 0 : static_cast<int>(shares[0].size()); }
  // "worker-3" of `plan`, or "8-15" when the row stands for these ranks.
  std::string RowLabel(const v1::Plan& plan, int row) const;
  // What a row and a column stand for: "1 worker", "4 workers"; "1 block", "3 blocks".
  std::string RowUnit() const;
  std::string ColumnUnit() const;
};

// Folds the plan's mask into at most `max_rows` x `max_columns` cells, which must be positive. Empty when the
// plan has no mask.
FoldedMask FoldMask(const v1::Plan& plan, int max_rows, int max_columns);

}  // namespace sdp::cli
