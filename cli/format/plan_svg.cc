#include "cli/format/plan_svg.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "cli/format/folded_mask.h"
#include "cli/format/table.h"
#include "cli/format/units.h"
#include "common/base/utf8.h"

namespace sdp::cli {
namespace {

constexpr int kMaxRows = 96;
constexpr int kMaxColumns = 160;
// Pixels.
constexpr int kGridWidth = 960;  // of the cells at most, as long as they are not below kMinCell
constexpr int kMinCell = 6;
constexpr int kMaxCell = 24;
constexpr int kRowHeight = 18;
constexpr int kLowRowHeight = 8;  // above 40 rows
constexpr int kMargin = 16;
constexpr int kTop = 64;    // title and block numbers
constexpr int kLetter = 7;  // width of a character of the labels, rounded up
constexpr int kLineHeight = 14;

// Colours for both schemes: text, paper, held, not held.
constexpr char kStyle[] =
    "<style>\n"
    ".paper{fill:#ffffff}.text{fill:#1f2328;font:12px sans-serif}.title{font-size:14px;font-weight:bold}\n"
    ".quiet{fill:#59636e}.held{fill:#0969da}.empty{fill:#e6eaef}\n"
    "@media(prefers-color-scheme:dark){.paper{fill:#0d1117}.text{fill:#e6edf3}.quiet{fill:#9198a1}\n"
    ".held{fill:#58a6ff}.empty{fill:#262c36}}\n"
    "</style>\n";

std::string XmlText(const std::string& text) {
  return absl::StrReplaceAll(ToUtf8(OneLine(text)),
                             {{"&", "&amp;"}, {"<", "&lt;"}, {">", "&gt;"}, {"\"", "&quot;"}});
}

std::string TextAt(int x, int y, const char* style, const char* anchor, const std::string& text) {
  return absl::StrCat("<text class=\"text", style, "\" x=\"", x, "\" y=\"", y, "\" text-anchor=\"", anchor,
                      "\">", XmlText(text), "</text>\n");
}

std::string Title(const v1::Plan& plan, const FoldedMask& mask) {
  const v1::PlanSummary& summary = plan.summary();
  return absl::StrCat("Mask: ", mask.ranks, mask.ranks == 1 ? " worker, " : " workers, ", mask.components,
                      mask.components == 1 ? " block, C " : " blocks, C ",
                      FormatNumber(summary.active_ratio()), ", gap ", FormatNumber(summary.spectral_gap()),
                      " (bound ", FormatNumber(summary.spectral_gap_bound()), ")");
}

std::string Legend(const FoldedMask& mask) {
  if (!mask.folded()) return "rows: workers; columns: blocks; filled: held";
  return absl::StrCat("rows: ranks; columns: blocks; the stronger a cell, the more of its ", mask.RowUnit(),
                      " x ", mask.ColumnUnit(), " are held");
}

// Where things are, in pixels.
struct Geometry {
  int left = 0;  // of the cells
  int cell_width = 0;
  int cell_height = 0;
  int width = 0;  // of the picture
  int height = 0;
};

Geometry Place(const v1::Plan& plan, const FoldedMask& mask) {
  Geometry place;
  size_t label = 0;
  for (int row = 0; row < mask.rows(); ++row) label = std::max(label, mask.RowLabel(plan, row).size());
  place.left = kMargin + kLetter * static_cast<int>(label) + 8;
  place.cell_width = std::clamp(kGridWidth / std::max(1, mask.columns()), kMinCell, kMaxCell);
  place.cell_height = mask.rows() > 40 ? kLowRowHeight : kRowHeight;
  const int share_width = kLetter * 12;  // "512/1024"
  const auto title_width = static_cast<int>((kLetter + 1) * Title(plan, mask).size());
  const auto legend_width = static_cast<int>(kLetter * Legend(mask).size());
  place.width = std::max({place.left + place.cell_width * mask.columns() + share_width, kMargin + title_width,
                          kMargin + legend_width}) +
                kMargin;
  place.height = kTop + place.cell_height * mask.rows() + kLineHeight + 2 * kMargin;
  return place;
}

// The smallest of 1, 2, 5, 10, 20, ... that is at least `least`.
int RoundStep(double least) {
  for (int power = 1;; power *= 10) {
    for (const int digit : {1, 2, 5}) {
      if (digit * power >= least) return digit * power;
    }
  }
}

// The numbers of the columns' first blocks, as many as there is room for.
std::string ColumnLabels(const FoldedMask& mask, const Geometry& place) {
  const auto digits = static_cast<double>(absl::StrCat(mask.components).size());
  const int step = RoundStep((digits * kLetter + 6) / place.cell_width);
  std::string svg;
  for (int column = 0; column < mask.columns(); column += step) {
    absl::StrAppend(&svg, TextAt(place.left + column * place.cell_width + place.cell_width / 2, kTop - 6,
                                 " quiet", "middle", absl::StrCat(column * mask.components_per_column)));
  }
  return svg;
}

// Each row's workers, and how many of the blocks they hold (on average, when there are several).
std::string RowLabels(const v1::Plan& plan, const FoldedMask& mask, const Geometry& place) {
  const int step = RoundStep(static_cast<double>(kLineHeight) / place.cell_height);
  std::string svg;
  for (int row = 0; row < mask.rows(); row += step) {
    const int baseline = kTop + row * place.cell_height + place.cell_height / 2 + 4;
    absl::StrAppend(&svg, TextAt(place.left - 8, baseline, "", "end", mask.RowLabel(plan, row)));
    if (mask.ranks_per_row > 1) continue;
    const std::string& bits = plan.mask(row);
    absl::StrAppend(&svg,
                    TextAt(place.left + mask.columns() * place.cell_width + 8, baseline, " quiet", "start",
                           absl::StrCat(std::count(bits.begin(), bits.end(), '1'), "/", bits.size())));
  }
  return svg;
}

// All cells empty: a pattern, so that large masks stay small files.
std::string EmptyCells(const FoldedMask& mask, const Geometry& place) {
  return absl::StrCat("<pattern id=\"cell\" patternUnits=\"userSpaceOnUse\" x=\"", place.left, "\" y=\"",
                      kTop, "\" width=\"", place.cell_width, "\" height=\"", place.cell_height,
                      "\"><rect class=\"empty\" width=\"", place.cell_width - 1, "\" height=\"",
                      place.cell_height - 1, "\"/></pattern>\n<rect fill=\"url(#cell)\" x=\"", place.left,
                      "\" y=\"", kTop, "\" width=\"", place.cell_width * mask.columns(), "\" height=\"",
                      place.cell_height * mask.rows(), "\"/>\n");
}

// Over the empty cells, one path for all cells of a share. Shares are rounded to sixteenths, but none and all
// are exact.
std::string HeldCells(const FoldedMask& mask, const Geometry& place) {
  constexpr int kLevels = 16;
  std::map<int, std::string> paths;
  for (int row = 0; row < mask.rows(); ++row) {
    for (int column = 0; column < mask.columns(); ++column) {
      const double share = mask.shares[row][column];
      if (share <= 0) continue;
      const int rounded = std::clamp(static_cast<int>(std::lround(share * kLevels)), 1, kLevels - 1);
      absl::StrAppend(&paths[share >= 1 ? kLevels : rounded], "M", place.left + column * place.cell_width,
                      " ", kTop + row * place.cell_height, "h", place.cell_width - 1, "v",
                      place.cell_height - 1, "h-", place.cell_width - 1, "z");
    }
  }
  std::string svg;
  for (const auto& [level, path] : paths) {
    absl::StrAppend(&svg, "<path class=\"held\" fill-opacity=\"", static_cast<double>(level) / kLevels,
                    "\" d=\"", path, "\"/>\n");
  }
  return svg;
}

}  // namespace

std::string PlanSvg(const v1::Plan& plan) {
  const FoldedMask mask = FoldMask(plan, kMaxRows, kMaxColumns);
  const std::string title = Title(plan, mask);
  const Geometry place = Place(plan, mask);
  return absl::StrCat("<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"", place.width, "\" height=\"",
                      place.height, "\" viewBox=\"0 0 ", place.width, " ", place.height, "\" role=\"img\">\n",
                      "<title>", XmlText(title), "</title>\n", kStyle, "<rect class=\"paper\" width=\"",
                      place.width, "\" height=\"", place.height, "\"/>\n",
                      TextAt(kMargin, kMargin + 12, " title", "start", title), ColumnLabels(mask, place),
                      RowLabels(plan, mask, place), EmptyCells(mask, place), HeldCells(mask, place),
                      TextAt(kMargin, place.height - kMargin, " quiet", "start", Legend(mask)), "</svg>\n");
}

}  // namespace sdp::cli
