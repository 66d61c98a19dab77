#include "cli/format/mask_drawing.h"

#include <algorithm>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "cli/format/folded_mask.h"

namespace sdp::cli {
namespace {

constexpr int kMaxRows = 40;
constexpr int kMaxExactBlocks = 256;
constexpr int kMinWidth = 10;  // of the cells, however long the labels are

std::string ExactSign(double share, bool utf8) {
  if (utf8) return share > 0 ? "\u25a0" : "\u00b7";
  return share > 0 ? "#" : ".";
}

std::string ShareSign(double share, bool utf8) {
  if (share <= 0) return utf8 ? "\u00b7" : ".";
  if (share >= 1) return utf8 ? "\u2588" : "#";
  if (!utf8) return absl::StrCat(static_cast<int>(share * 10));
  return share <= 1.0 / 3 ? "\u2591" : share <= 2.0 / 3 ? "\u2592" : "\u2593";
}

std::string Legend(bool utf8) {
  if (utf8) {
    return "Held share of a cell: \u00b7 none, \u2591 up to 1/3, \u2592 up to 2/3, \u2593 more, \u2588 all\n";
  }
  return "Held share of a cell: . none, 0 below 10%, 1 below 20%, ..., 9 below 100%, # all\n";
}

// How the cells are spread over the terminal.
struct Layout {
  int label_width = 0;
  int per_stretch = 1;  // columns of cells
  std::string between;  // cells
  int digits = 1;       // of the largest block number in the header
};

Layout LayOut(const FoldedMask& mask, const std::vector<std::string>& labels, const Terminal& terminal) {
  Layout layout;
  for (const std::string& label : labels)
    layout.label_width = std::max(layout.label_width, static_cast<int>(label.size()) + 2);
  const int width = std::max(terminal.columns - layout.label_width, kMinWidth);
  layout.per_stretch = mask.columns();
  if (2 * mask.columns() - 1 <= width) {
    layout.between = " ";
  } else if (mask.columns() > width) {
    layout.per_stretch = width - width % 10;  // so that every stretch begins with a round number
  }
  const int last = (mask.columns() - 1) * mask.components_per_column;
  layout.digits = static_cast<int>(absl::StrCat(last).size());
  return layout;
}

std::string Line(const Layout& layout, const std::string& label, const std::vector<std::string>& cells) {
  std::string line = absl::StrFormat("%-*s", layout.label_width, label);
  absl::StrAppend(&line, absl::StrJoin(cells, layout.between));
  return absl::StrCat(absl::StripTrailingAsciiWhitespace(line), "\n");
}

// The numbers of the columns' first blocks, read downwards.
std::string Header(const FoldedMask& mask, const Layout& layout, int first, int end) {
  std::string text;
  for (int digit = 0; digit < layout.digits; ++digit) {
    std::vector<std::string> cells;
    for (int column = first; column < end; ++column) {
      const std::string number = absl::StrFormat("%*d", layout.digits, column * mask.components_per_column);
      cells.push_back(number.substr(digit, 1));
    }
    const std::string line = Line(layout, "", cells);
    if (line != "\n") absl::StrAppend(&text, line);
  }
  return text;
}

FoldedMask CellsOf(const v1::Plan& plan, const Terminal& terminal) {
  const int blocks = plan.mask().empty() ? 0 : static_cast<int>(plan.mask(0).size());
  if (plan.mask_size() <= kMaxRows && blocks <= kMaxExactBlocks) {
    return FoldMask(plan, kMaxRows, kMaxExactBlocks);
  }
  // The labels depend on how the rows are folded only.
  const FoldedMask rows = FoldMask(plan, kMaxRows, 1);
  int label_width = 0;
  for (int row = 0; row < rows.rows(); ++row)
    label_width = std::max(label_width, static_cast<int>(rows.RowLabel(plan, row).size()) + 2);
  return FoldMask(plan, kMaxRows, std::max(terminal.columns - label_width, kMinWidth));
}

}  // namespace

std::string MaskDrawing(const v1::Plan& plan, const Terminal& terminal) {
  const FoldedMask mask = CellsOf(plan, terminal);
  if (mask.columns() == 0) return "";
  std::vector<std::string> labels;
  for (int row = 0; row < mask.rows(); ++row) labels.push_back(mask.RowLabel(plan, row));
  const Layout layout = LayOut(mask, labels, terminal);
  std::string text = absl::StrCat("Mask (a row: ", mask.RowUnit(), ", a column: ", mask.ColumnUnit(), ")\n");
  if (!mask.folded()) text = "Mask (rows: workers, columns: blocks)\n";
  for (int first = 0; first < mask.columns(); first += layout.per_stretch) {
    const int end = std::min(first + layout.per_stretch, mask.columns());
    absl::StrAppend(&text, first > 0 ? "\n" : "", Header(mask, layout, first, end));
    for (int row = 0; row < mask.rows(); ++row) {
      std::vector<std::string> cells;
      for (int column = first; column < end; ++column) {
        const double share = mask.shares[row][column];
        cells.push_back(mask.folded() ? ShareSign(share, terminal.utf8) : ExactSign(share, terminal.utf8));
      }
      absl::StrAppend(&text, Line(layout, labels[row], cells));
    }
  }
  return mask.folded() ? absl::StrCat(text, Legend(terminal.utf8)) : text;
}

}  // namespace sdp::cli
