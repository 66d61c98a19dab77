#include "common/base/utf8.h"

#include "gtest/gtest.h"

namespace sdp {
namespace {

TEST(Utf8, AcceptsExactlyWellFormedText) {
  for (const char* text : {"", "abc", "\xc2\x80", "\xdf\xbf", "\xe0\xa0\x80", "\xed\x9f\xbf", "\xee\x80\x80",
                           "\xf0\x90\x80\x80", "\xf4\x8f\xbf\xbf"}) {
    EXPECT_TRUE(IsUtf8(text)) << text;
  }
  for (const char* text : {"\x80", "\xc1\xbf", "\xc2", "\xe0\x9f\xbf", "\xed\xa0\x80", "\xe2\x82",
                           "\xf0\x8f\xbf\xbf", "\xf4\x90\x80\x80", "\xf5\x80\x80\x80", "a\xff"}) {
    EXPECT_FALSE(IsUtf8(text)) << text;
  }
}

TEST(Utf8, ToUtf8ReplacesWhatIsNot) {
  EXPECT_EQ(ToUtf8("fine \xc3\xa4"), "fine \xc3\xa4");
  EXPECT_EQ(ToUtf8("\xff"
                   "a\xc3"),
            "?a?");
}

TEST(Utf8, CutUtf8NeverSplitsACharacter) {
  EXPECT_EQ(CutUtf8("abc", 3), "abc");
  EXPECT_EQ(CutUtf8("a\xc3\xa4", 2), "a");
  EXPECT_EQ(CutUtf8("a\xc3\xa4z", 3), "a\xc3\xa4");
  EXPECT_EQ(CutUtf8("\xf0\x90\x80\x80", 3), "");
}

}  // namespace
}  // namespace sdp
