#include "cli/format/folded_mask.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "cli/format/table.h"

namespace sdp::cli {
namespace {

int CeilDivide(int a, int b) { return (a + b - 1) / b; }

// Held share of the entries from (first_rank, first_component) on. Rows that are too short hold nothing more.
double HeldShare(const v1::Plan& plan, const FoldedMask& folded, int row, int column) {
  const int first_rank = row * folded.ranks_per_row;
  const int first = column * folded.components_per_column;
  const int end_rank = std::min(first_rank + folded.ranks_per_row, folded.ranks);
  const int end = std::min(first + folded.components_per_column, folded.components);
  int held = 0;
  for (int rank = first_rank; rank < end_rank; ++rank) {
    const std::string& bits = plan.mask(rank);
    for (int b = first; b < std::min(end, static_cast<int>(bits.size())); ++b) held += bits[b] == '1' ? 1 : 0;
  }
  return static_cast<double>(held) / ((end_rank - first_rank) * (end - first));
}

}  // namespace

std::string FoldedMask::RowLabel(const v1::Plan& plan, int row) const {
  const int first = row * ranks_per_row;
  if (ranks_per_row == 1) return first < plan.members_size() ? OneLine(plan.members(first).worker()) : "";
  const int last = std::min(first + ranks_per_row, ranks) - 1;
  return last == first ? absl::StrCat(first) : absl::StrCat(first, "-", last);
}

std::string FoldedMask::RowUnit() const {
  return ranks_per_row == 1 ? "1 worker" : absl::StrCat(ranks_per_row, " workers");
}

std::string FoldedMask::ColumnUnit() const {
  return components_per_column == 1 ? "1 block" : absl::StrCat(components_per_column, " blocks");
}

FoldedMask FoldMask(const v1::Plan& plan, int max_rows, int max_columns) {
  FoldedMask folded;
  folded.ranks = plan.mask_size();
  folded.components = folded.ranks == 0 ? 0 : static_cast<int>(plan.mask(0).size());
  if (folded.components == 0) return folded;
  folded.ranks_per_row = CeilDivide(folded.ranks, max_rows);
  folded.components_per_column = CeilDivide(folded.components, max_columns);
  const int columns = CeilDivide(folded.components, folded.components_per_column);
  for (int row = 0; row < CeilDivide(folded.ranks, folded.ranks_per_row); ++row) {
    std::vector<double>& shares = folded.shares.emplace_back();
    for (int column = 0; column < columns; ++column) shares.push_back(HeldShare(plan, folded, row, column));
  }
  return folded;
}

}  // namespace sdp::cli
