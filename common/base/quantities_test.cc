#include "common/base/quantities.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace sdp {
namespace {

TEST(FormatBytesTest, ScalesByBinaryUnits) {
  EXPECT_EQ(FormatBytes(0), "0 B");
  EXPECT_EQ(FormatBytes(1023), "1023 B");
  EXPECT_EQ(FormatBytes(1024 * 1024 - 1), "1.00 MiB");
  EXPECT_EQ(FormatBytes(1536), "1.50 KiB");
  EXPECT_EQ(FormatBytes(45.1 * 1024 * 1024), "45.1 MiB");
  EXPECT_EQ(FormatBytes(123.4 * 1024 * 1024 * 1024), "123 GiB");
  EXPECT_EQ(FormatBytes(5e18), "4441 PiB");
  EXPECT_EQ(FormatBytes(-2048), "-2.00 KiB");
}

TEST(FormatCountTest, ScalesByThousands) {
  EXPECT_EQ(FormatCount(987), "987");
  EXPECT_EQ(FormatCount(12345), "12.3k");
  EXPECT_EQ(FormatCount(860000), "860k");
  EXPECT_EQ(FormatCount(999999), "1.00M");
  EXPECT_EQ(FormatCount(1.24e9), "1.24G");
  EXPECT_EQ(FormatCount(0.5), "0.50");
  EXPECT_EQ(FormatCount(std::numeric_limits<double>::quiet_NaN()), "-");
}

TEST(ParseBytesTest, ReadsUnits) {
  EXPECT_EQ(ParseBytes("4096").value(), 4096);
  EXPECT_EQ(ParseBytes("24GiB").value(), int64_t{24} << 30);
  EXPECT_EQ(ParseBytes("24Gi").value(), int64_t{24} << 30);
  EXPECT_EQ(ParseBytes(" 1.5 tib ").value(), int64_t{3} << 39);
  EXPECT_EQ(ParseBytes("80GB").value(), 80'000'000'000);
  EXPECT_EQ(ParseBytes("1e3 KiB").value(), 1'024'000);
  EXPECT_EQ(ParseBytes("7b").value(), 7);
}

TEST(FormatBytesUpTest, IsNeverLess) {
  EXPECT_EQ(FormatBytesUp(1200), "1.18 KiB");
  EXPECT_EQ(FormatBytesUp(1024), "1.00 KiB");
  EXPECT_EQ(FormatBytesUp(812), "812 B");
  for (double bytes = 1; bytes < 1e15; bytes *= 1.37) {
    EXPECT_GE(ParseBytes(FormatBytesUp(std::floor(bytes))).value(), std::floor(bytes))
        << FormatBytesUp(bytes);
  }
}

TEST(WriteBytesTest, IsReadBack) {
  EXPECT_EQ(WriteBytes(int64_t{24} << 30), "24GiB");
  for (const int64_t bytes : {int64_t{1}, int64_t{1000}, int64_t{1536}, int64_t{3} << 39, int64_t{5} << 50}) {
    EXPECT_EQ(ParseBytes(WriteBytes(bytes)).value(), bytes) << WriteBytes(bytes);
  }
}

TEST(ParseBytesTest, RefusesWhatAreNoBytes) {
  for (const char* text : {"", "GiB", "0", "-1GiB", "24 GiBs", "24G", "nan", "inf", "1e30TiB", "0.1", "1..2",
                           "0x10", "24 Gib ps"}) {
    const auto bytes = ParseBytes(text);
    ASSERT_FALSE(bytes.ok()) << "'" << text << "' was read as " << *bytes;
    EXPECT_NE(bytes.status().message().find("24GiB"), std::string::npos) << bytes.status();
  }
}

TEST(ParseCountTest, ReadsUnits) {
  EXPECT_DOUBLE_EQ(ParseCount("2T").value(), 2e12);
  EXPECT_DOUBLE_EQ(ParseCount("312.5 g").value(), 312.5e9);
  EXPECT_DOUBLE_EQ(ParseCount("1e12").value(), 1e12);
  EXPECT_DOUBLE_EQ(ParseCount("17").value(), 17);
  for (const char* text : {"", "T", "0", "-2", "2TF", "2e", "x"}) EXPECT_FALSE(ParseCount(text).ok()) << text;
}

}  // namespace
}  // namespace sdp
