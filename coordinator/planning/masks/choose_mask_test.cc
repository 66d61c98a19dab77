#include "coordinator/planning/masks/choose_mask.h"

#include <string>
#include <vector>

#include "coordinator/planning/spectrum/mask_graph.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace sdp {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

MaskingSpec Balanced(double active_ratio) {
  MaskingSpec spec;
  spec.active_ratio = active_ratio;
  return spec;
}

MaskingSpec Explicit(const std::vector<std::string>& rows) {
  MaskingSpec spec;
  spec.generator = MaskGenerator::kExplicit;
  for (const std::string& row : rows) {
    spec.matrix.emplace_back();
    for (char bit : row) spec.matrix.back().push_back(bit == '1');
  }
  return spec;
}

std::vector<double> Sizes(int columns) { return std::vector<double>(columns, 1.0); }

void ExpectRefused(const MaskingSpec& spec, int workers, int columns, const std::string& complaint) {
  const absl::Status status = ChooseMask(spec, workers, Sizes(columns)).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(status.message()), HasSubstr(complaint));
}

TEST(ChooseMaskTest, BalancedHoldsTheRatio) {
  const absl::StatusOr<Mask> mask = ChooseMask(Balanced(0.5), 4, Sizes(8));
  ASSERT_TRUE(mask.ok()) << mask.status();
  for (Rank i = 0; i < 4; ++i) EXPECT_EQ(mask->Held(i), 4);
  EXPECT_EQ(MinimumCoverage(*mask), 2);
}

TEST(ChooseMaskTest, RatioOneIsFull) {
  EXPECT_TRUE(ChooseMask(Balanced(1.0), 3, Sizes(5)).value() == Mask::Full(3, 5));
  EXPECT_TRUE(ChooseMask(Balanced(1.0), 1, Sizes(5)).value() == Mask::Full(1, 5));
}

TEST(ChooseMaskTest, FullIgnoresTheRatio) {
  MaskingSpec spec = Balanced(0.01);
  spec.generator = MaskGenerator::kFull;
  EXPECT_TRUE(ChooseMask(spec, 3, Sizes(5)).value() == Mask::Full(3, 5));
}

TEST(ChooseMaskTest, ExplicitIsTakenAsItIs) {
  const absl::StatusOr<Mask> mask = ChooseMask(Explicit({"110", "011"}), 2, Sizes(3));
  ASSERT_TRUE(mask.ok()) << mask.status();
  EXPECT_THAT(mask->Rows(), ElementsAre("110", "011"));
}

TEST(ChooseMaskTest, RefusesLessThanOneHolderAndNamesTheSmallestRatio) {
  // 4 x 8 x 0.2 = 6.4 holdings; 11 are needed: 11 / 32 = 0.34375.
  ExpectRefused(Balanced(0.2), 4, 8, "gives 6 holdings, and that is less than one holder for each component");
  ExpectRefused(Balanced(0.2), 4, 8, "the smallest active_ratio that works here is 0.3438");
  EXPECT_TRUE(ChooseMask(Balanced(0.3438), 4, Sizes(8)).ok());
}

TEST(ChooseMaskTest, RefusesARatioThatCannotConnectTheWorkers) {
  ExpectRefused(Balanced(0.25), 4, 8, "gives 8 holdings, and with fewer than 11 the workers cannot all be");
  ExpectRefused(Balanced(0.5), 8, 2, "cannot all be connected");
}

TEST(ChooseMaskTest, OneWorkerMustHoldEverything) {
  ExpectRefused(Balanced(0.5), 1, 8, "with 1 worker and 8 maskable components it gives 4 holdings");
  ExpectRefused(Balanced(0.5), 1, 8, "the smallest active_ratio that works here is 1");
}

TEST(ChooseMaskTest, RefusesARatioOutOfRange) {
  ExpectRefused(Balanced(0), 4, 8, "masking.active_ratio is 0; it must be above 0 and at most 1");
  ExpectRefused(Balanced(1.5), 4, 8, "masking.active_ratio is 1.5");
}

TEST(ChooseMaskTest, RefusesAMatrixOfAnotherSize) {
  ExpectRefused(Explicit({"110", "011"}), 3, 3, "masking.matrix has 2 rows, but the job runs on 3 workers");
  ExpectRefused(Explicit({"110", "01"}), 2, 3,
                "row 1 has 2 columns, but the model has 3 maskable components");
}

TEST(ChooseMaskTest, RefusesEmptyRowsAndColumns) {
  ExpectRefused(Explicit({"111", "000"}), 2, 3, "masking.matrix row 1 is empty");
  ExpectRefused(Explicit({"110", "010"}), 2, 3, "masking.matrix column 2 is empty");
}

TEST(ChooseMaskTest, RefusesADisconnectedMatrixAndNamesTheParts) {
  ExpectRefused(Explicit({"1100", "0011", "1000", "0001"}), 4, 4, "disconnected: the rows {0, 2}, {1, 3}");
}

}  // namespace
}  // namespace sdp
