#include "coordinator/planning/spectrum/schedule_spectrum.h"

#include <string>
#include <vector>

#include "coordinator/planning/masks/balanced_mask.h"
#include "coordinator/planning/spectrum/mask_graph.h"
#include "gtest/gtest.h"

namespace sdp {
namespace {

Mask FromRows(const std::vector<std::string>& rows) { return Mask::FromRows(rows).value(); }

TEST(ScheduleSpectrumTest, OneMaskHasItsOwnGap) {
  const std::vector<double> sizes = {2, 1, 1, 3};
  const Mask mask = FromRows({"1101", "0111", "1010"});
  const ScheduleSpectrum spectrum = SpectrumOfSchedule({mask}, sizes);
  EXPECT_NEAR(spectrum.mean_gap, SpectralGap(mask, sizes), 1e-10);
  EXPECT_NEAR(spectrum.product_gap, SpectralGap(mask, sizes), 1e-10);
  // The same again and again is no better.
  EXPECT_NEAR(SpectrumOfSchedule({mask, mask, mask}, sizes).product_gap, SpectralGap(mask, sizes), 1e-10);
}

TEST(ScheduleSpectrumTest, TwoDisconnectedMasksConnectTogether) {
  // Pairs {0,1},{2,3} and then {0,2},{1,3}: after both steps everyone has averaged with everyone.
  const Mask first = FromRows({"10", "10", "01", "01"});
  const Mask second = FromRows({"10", "01", "10", "01"});
  EXPECT_EQ(SpectralGap(first, {1, 1}), 0.0);
  const ScheduleSpectrum spectrum = SpectrumOfSchedule({first, second}, {1, 1});
  // The mean has eigenvalues 1, 1/2, 1/2, 0; the product 1, 0, 0, 0.
  EXPECT_NEAR(spectrum.mean_gap, 0.5, 1e-10);
  EXPECT_NEAR(spectrum.product_gap, 1.0, 1e-6);
}

TEST(ScheduleSpectrumTest, OneWorkerHasAllThereIs) {
  EXPECT_EQ(SpectrumOfSchedule({Mask::Full(1, 3)}, {1, 1, 1}).mean_gap, 1.0);
}

TEST(ScheduleSpectrumTest, LargeSchedulesAgreeWithTheGapOfOneMask) {
  const std::vector<double> sizes(64, 1.0);
  const Mask mask = DisconnectedBalancedMask(260, 64, 64 * 40, 1);
  ASSERT_EQ(ConnectedParts(mask).size(), 1u);
  const ScheduleSpectrum spectrum = SpectrumOfSchedule({mask, mask}, sizes);
  EXPECT_NEAR(spectrum.mean_gap, SpectralGap(mask, sizes), 1e-7);
  EXPECT_NEAR(spectrum.product_gap, SpectralGap(mask, sizes), 1e-7);
}

}  // namespace
}  // namespace sdp
