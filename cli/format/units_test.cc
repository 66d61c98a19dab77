#include "cli/format/units.h"

#include <limits>

#include "cli/format/table.h"
#include "gtest/gtest.h"

namespace sdp::cli {
namespace {

TEST(FormatBytes, ScalesByBinaryUnits) {
  EXPECT_EQ(FormatBytes(0), "0 B");
  EXPECT_EQ(FormatBytes(1023), "1023 B");
  EXPECT_EQ(FormatBytes(1024 * 1024 - 1), "1.00 MiB");
  EXPECT_EQ(FormatBytes(1536), "1.50 KiB");
  EXPECT_EQ(FormatBytes(45.1 * 1024 * 1024), "45.1 MiB");
  EXPECT_EQ(FormatBytes(123.4 * 1024 * 1024 * 1024), "123 GiB");
  EXPECT_EQ(FormatBytes(5e18), "4441 PiB");
  EXPECT_EQ(FormatBytes(-2048), "-2.00 KiB");
}

TEST(FormatCount, ScalesByThousands) {
  EXPECT_EQ(FormatCount(987), "987");
  EXPECT_EQ(FormatCount(12345), "12.3k");
  EXPECT_EQ(FormatCount(860000), "860k");
  EXPECT_EQ(FormatCount(999999), "1.00M");
  EXPECT_EQ(FormatCount(1.24e9), "1.24G");
  EXPECT_EQ(FormatCount(0.5), "0.50");
  EXPECT_EQ(FormatCount(std::numeric_limits<double>::quiet_NaN()), "-");
}

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

}  // namespace
}  // namespace sdp::cli
