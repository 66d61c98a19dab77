#include "cli/format/units.h"

#include <cmath>

#include "cli/format/table.h"
#include "gtest/gtest.h"

namespace sdp::cli {
namespace {

TEST(ShortDuration, HasTwoUnitsAtMost) {
  EXPECT_EQ(ShortDuration(absl::Seconds(4.9)), "4s");
  EXPECT_EQ(ShortDuration(absl::Seconds(65)), "1m05s");
  EXPECT_EQ(ShortDuration(absl::Minutes(123)), "2h03m");
  EXPECT_EQ(ShortDuration(absl::Hours(76)), "3d04h");
  EXPECT_EQ(ShortDuration(-absl::Seconds(1)), "-");
  EXPECT_EQ(ShortDuration(absl::InfiniteDuration()), "-");
}

TEST(FormatPercent, KeepsOneDigitWhenSmall) {
  EXPECT_EQ(FormatPercent(0.52), "52%");
  EXPECT_EQ(FormatPercent(0.004), "0.4%");
  EXPECT_EQ(FormatPercent(0), "0%");
  EXPECT_EQ(FormatPercent(1), "100%");
}

TEST(TextTable, AlignsByCharactersAndKeepsRowsOnOneLine) {
  TextTable table({"A", "LONG HEADER", "C"});
  table.AddRow({"\xc3\xa4\xc3\xa4\xc3\xa4", "x", "y\nz"});
  table.AddRow({"b", "", "q"});
  EXPECT_EQ(table.ToString(),
            "A    LONG HEADER  C\n"
            "\xc3\xa4\xc3\xa4\xc3\xa4  x            y z\n"
            "b    -            q\n");
}

TEST(TextFields, AlignsValues) {
  TextFields fields;
  fields.Add("A", "1");
  fields.Add("Longer", "2");
  fields.Add("Empty", "");
  EXPECT_EQ(fields.ToString(), "A:       1\nLonger:  2\nEmpty:\n");
}

TEST(FormatSeconds, TakesTheUnitThatFits) {
  EXPECT_EQ(FormatSeconds(0), "0 us");
  EXPECT_EQ(FormatSeconds(0.000812), "812 us");
  EXPECT_EQ(FormatSeconds(0.00099961), "1.00 ms");
  EXPECT_EQ(FormatSeconds(0.0451), "45.1 ms");
  EXPECT_EQ(FormatSeconds(0.9994), "999 ms");
  EXPECT_EQ(FormatSeconds(0.9996), "1.00 s");
  EXPECT_EQ(FormatSeconds(12.34), "12.3 s");
  EXPECT_EQ(FormatSeconds(59.96), "1m00s");
  EXPECT_EQ(FormatSeconds(185), "3m05s");
  EXPECT_EQ(FormatSeconds(-1), "-");
  EXPECT_EQ(FormatSeconds(INFINITY), "-");
}

}  // namespace
}  // namespace sdp::cli
