#include "cli/format/mask_drawing.h"

#include <algorithm>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace sdp::cli {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

// Workers w0, w1, ...; worker i holds block b when (i + b) is a multiple of `every`.
v1::Plan PlanOf(int workers, int blocks, int every) {
  v1::Plan plan;
  for (int rank = 0; rank < workers; ++rank) {
    plan.add_members()->set_worker(absl::StrCat("w", rank));
    std::string row;
    for (int block = 0; block < blocks; ++block) row += (rank + block) % every == 0 ? '1' : '0';
    plan.add_mask(row);
  }
  return plan;
}

Terminal Ascii(int columns) { return {/*utf8=*/false, columns}; }

size_t LongestLine(const std::string& text) {
  size_t longest = 0;
  for (const absl::string_view line : absl::StrSplit(text, '\n')) longest = std::max(longest, line.size());
  return longest;
}

TEST(MaskDrawing, HasAirBetweenTheColumnsWhereThereIsRoom) {
  EXPECT_EQ(MaskDrawing(PlanOf(2, 12, 3), Ascii(80)),
            "Mask (rows: workers, columns: blocks)\n"
            "                        1 1\n"
            "    0 1 2 3 4 5 6 7 8 9 0 1\n"
            "w0  # . . # . . # . . # . .\n"
            "w1  . . # . . # . . # . . #\n");
  // One column less than it takes.
  EXPECT_EQ(MaskDrawing(PlanOf(2, 12, 3), Ascii(26)),
            "Mask (rows: workers, columns: blocks)\n"
            "              11\n"
            "    012345678901\n"
            "w0  #..#..#..#..\n"
            "w1  ..#..#..#..#\n");
}

TEST(MaskDrawing, Utf8) {
  EXPECT_EQ(MaskDrawing(PlanOf(1, 3, 3), {/*utf8=*/true, 80}),
            "Mask (rows: workers, columns: blocks)\n"
            "    0 1 2\n"
            "w0  \u25a0 \u00b7 \u00b7\n");
}

TEST(MaskDrawing, WideMasksGoOnBelow) {
  EXPECT_EQ(MaskDrawing(PlanOf(2, 25, 3), Ascii(16)),
            "Mask (rows: workers, columns: blocks)\n"
            "    0123456789\n"
            "w0  #..#..#..#\n"
            "w1  ..#..#..#.\n"
            "\n"
            "    1111111111\n"
            "    0123456789\n"
            "w0  ..#..#..#.\n"
            "w1  .#..#..#..\n"
            "\n"
            "    22222\n"
            "    01234\n"
            "w0  .#..#\n"
            "w1  #..#.\n");
}

TEST(MaskDrawing, ManyWorkersAreFoldedIntoShares) {
  const std::string text = MaskDrawing(PlanOf(41, 3, 2), Ascii(80));
  EXPECT_THAT(text, StartsWith("Mask (a row: 2 workers, a column: 1 block)\n"
                               "       0 1 2\n"
                               "0-1    5 5 5\n"
                               "2-3    5 5 5\n"));
  EXPECT_THAT(
      text, HasSubstr("\n38-39  5 5 5\n"
                      "40     # . #\n"
                      "Held share of a cell: . none, 0 below 10%, 1 below 20%, ..., 9 below 100%, # all\n"));
  EXPECT_THAT(MaskDrawing(PlanOf(40, 3, 2), Ascii(80)), Not(HasSubstr("share")));
}

TEST(MaskDrawing, ManyBlocksAreFoldedIntoOneStretch) {
  v1::Plan plan;
  plan.add_members()->set_worker("w0");
  plan.add_mask(std::string(100, '1') + std::string(20, '0') + "1" + std::string(140, '0'));
  EXPECT_EQ(MaskDrawing(plan, Ascii(16)),
            "Mask (a row: 1 worker, a column: 22 blocks)\n"
            "         1111122\n"
            "     24681357924\n"
            "    024680246802\n"
            "w0  ####50......\n"
            "Held share of a cell: . none, 0 below 10%, 1 below 20%, ..., 9 below 100%, # all\n");
}

TEST(MaskDrawing, ShadesOfUtf8) {
  v1::Plan plan;
  plan.add_members()->set_worker("w0");
  std::string row;
  for (int held = 0; held <= 30; ++held) row += std::string(held, '1') + std::string(30 - held, '0');
  plan.add_mask(row);  // 31 cells of 30 blocks, each with one more
  const std::string text = MaskDrawing(plan, {/*utf8=*/true, 35});
  std::string cells = "w0  \u00b7";
  for (int held = 1; held <= 10; ++held) cells += "\u2591";
  for (int held = 11; held <= 20; ++held) cells += "\u2592";
  for (int held = 21; held <= 29; ++held) cells += "\u2593";
  EXPECT_THAT(text, HasSubstr(cells + "\u2588\n"));
  EXPECT_THAT(text, HasSubstr("\u2591 up to 1/3"));
}

TEST(MaskDrawing, FitsIntoTheTerminal) {
  for (const int workers : {1, 8, 40, 41, 1024}) {
    for (const int blocks : {1, 35, 36, 70, 76, 77, 256, 257, 1024}) {
      for (const int columns : {40, 80, 132}) {
        const std::string text = MaskDrawing(PlanOf(workers, blocks, 2), Ascii(columns));
        // The title and the legend are as long as they are.
        const size_t cells = text.find('\n') + 1;
        const size_t legend = std::min(text.find("Held share"), text.size());
        EXPECT_LE(LongestLine(text.substr(cells, legend - cells)), columns) << workers << " x " << blocks;
        EXPECT_LE(std::count(text.begin(), text.end(), '\n'), 9 * 45) << workers << " x " << blocks;
      }
    }
  }
}

TEST(MaskDrawing, LongNamesLeaveRoomForSomeBlocks) {
  v1::Plan plan = PlanOf(1, 20, 2);
  plan.mutable_members(0)->set_worker(std::string(63, 'n'));
  EXPECT_THAT(MaskDrawing(plan, Ascii(40)), HasSubstr(std::string(63, 'n') + "  #.#.#.#.#.\n"));
}

TEST(MaskDrawing, NoMaskNoDrawing) { EXPECT_EQ(MaskDrawing(v1::Plan(), Ascii(80)), ""); }

}  // namespace
}  // namespace sdp::cli
