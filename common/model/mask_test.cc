#include "common/model/mask.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace sdp {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(MaskTest, RowsAndColumnsOfAMask) {
  const absl::StatusOr<Mask> mask = Mask::FromRows({"110", "011"});
  ASSERT_TRUE(mask.ok()) << mask.status();
  EXPECT_EQ(mask->workers(), 2);
  EXPECT_EQ(mask->columns(), 3);
  EXPECT_THAT(mask->Holders(0), ElementsAre(0));
  EXPECT_THAT(mask->Holders(1), ElementsAre(0, 1));
  EXPECT_THAT(mask->Holders(2), ElementsAre(1));
  EXPECT_EQ(mask->Held(0), 2);
  EXPECT_EQ(mask->Held(1), 2);
  EXPECT_THAT(mask->Rows(), ElementsAre("110", "011"));
}

TEST(MaskTest, SetAndCompare) {
  Mask mask(2, 2);
  EXPECT_THAT(mask.Rows(), ElementsAre("00", "00"));
  EXPECT_THAT(mask.Holders(1), IsEmpty());
  mask.set(1, 0, true);
  EXPECT_THAT(mask.Rows(), ElementsAre("00", "10"));
  EXPECT_FALSE(mask == Mask(2, 2));
  mask.set(1, 0, false);
  EXPECT_TRUE(mask == Mask(2, 2));
  EXPECT_FALSE(Mask(2, 3) == Mask(3, 2));
}

TEST(MaskTest, FullHoldsEverything) {
  EXPECT_THAT(Mask::Full(2, 3).Rows(), ElementsAre("111", "111"));
  EXPECT_EQ(Mask::Full(2, 0).columns(), 0);
}

TEST(MaskTest, NoRowsIsTheEmptyMask) {
  const absl::StatusOr<Mask> mask = Mask::FromRows({});
  ASSERT_TRUE(mask.ok());
  EXPECT_EQ(mask->workers(), 0);
}

TEST(MaskTest, RefusesRowsOfDifferentLengths) {
  const absl::Status status = Mask::FromRows({"110", "11"}).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(status.message(), HasSubstr("row 1 of the mask has 2 characters, but row 0 has 3"));
}

TEST(MaskTest, RefusesOtherCharacters) {
  const absl::Status status = Mask::FromRows({"110", "1x0"}).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(status.message(), HasSubstr("row 1"));
  EXPECT_THAT(status.message(), HasSubstr("column 1"));
}

}  // namespace
}  // namespace sdp
