#include "coordinator/planning/spectrum/mask_graph.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <tuple>
#include <vector>

#include "common/base/random.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace sdp {
namespace {

using ::testing::ElementsAre;
using Matrix = std::vector<std::vector<double>>;

Mask FromRows(const std::vector<std::string>& rows) { return Mask::FromRows(rows).value(); }

// All eigenvalues of a symmetric matrix, ascending: Jacobi's rotations, element by element.
std::vector<double> JacobiEigenvalues(Matrix a) {
  const int n = static_cast<int>(a.size());
  for (int sweep = 0; sweep < 60; ++sweep) {
    for (int p = 0; p < n; ++p) {
      for (int q = p + 1; q < n; ++q) {
        if (std::abs(a[p][q]) < 1e-300) continue;
        const double angle = 0.5 * std::atan2(2 * a[p][q], a[q][q] - a[p][p]);
        const double c = std::cos(angle), s = std::sin(angle);
        for (int k = 0; k < n; ++k) {
          const double kp = a[k][p], kq = a[k][q];
          a[k][p] = c * kp - s * kq;
          a[k][q] = s * kp + c * kq;
        }
        for (int k = 0; k < n; ++k) {
          const double pk = a[p][k], qk = a[q][k];
          a[p][k] = c * pk - s * qk;
          a[q][k] = s * pk + c * qk;
        }
      }
    }
  }
  std::vector<double> values;
  for (int i = 0; i < n; ++i) values.push_back(a[i][i]);
  std::sort(values.begin(), values.end());
  return values;
}

// T of the definition, with the shared components as one more column that everyone holds.
Matrix SlowT(const Mask& mask, std::vector<double> sizes, double shared_size) {
  const int n = mask.workers();
  std::vector<std::vector<double>> m(n);
  for (int i = 0; i < n; ++i) {
    for (int b = 0; b < mask.columns(); ++b) m[i].push_back(mask.holds(i, b) ? 1 : 0);
    if (shared_size > 0) m[i].push_back(1);
  }
  if (shared_size > 0) sizes.push_back(shared_size);
  Matrix w(n, std::vector<double>(n, 0.0));
  for (size_t b = 0; b < sizes.size(); ++b) {
    double k = 0;
    for (int i = 0; i < n; ++i) k += m[i][b];
    for (int i = 0; i < n; ++i) {
      for (int j = 0; j < n; ++j) w[i][j] += sizes[b] * m[i][b] * m[j][b] / k;
    }
  }
  std::vector<double> p(n, 0.0);
  for (int i = 0; i < n; ++i) {
    for (int j = 0; j < n; ++j) p[i] += w[i][j];
  }
  Matrix t = w;
  for (int i = 0; i < n; ++i) {
    for (int j = 0; j < n; ++j) t[i][j] = w[i][j] / std::sqrt(p[i] * p[j]);
  }
  return t;
}

// Squared distance between the weights of holders and equal weights of all, over the components.
double SlowMaskingError(const Mask& mask, const std::vector<double>& sizes, double shared_size) {
  const int n = mask.workers();
  double total = shared_size, sum = 0;
  for (int b = 0; b < mask.columns(); ++b) {
    const double k = static_cast<double>(mask.Holders(b).size());
    total += sizes[b];
    for (int i = 0; i < n; ++i) {
      const double difference = (mask.holds(i, b) ? 1.0 / k : 0.0) - 1.0 / n;
      sum += sizes[b] * difference * difference;
    }
  }
  return n / (n - 1.0) * sum / total;
}

TEST(MaskGraphTest, FullOverlapHasGapOneAndNoError) {
  for (int workers : {1, 2, 5}) {
    const Mask mask = Mask::Full(workers, 3);
    const std::vector<double> sizes = {1, 2, 5};
    EXPECT_EQ(SpectralGap(mask, sizes), 1.0);
    EXPECT_EQ(SpectralGapBound(mask, sizes), 1.0);
    EXPECT_EQ(SpectralGap(mask, sizes, 7.0), 1.0);
    EXPECT_EQ(MaskingError(mask, sizes), 0.0);
  }
}

TEST(MaskGraphTest, DisjointMasksHaveGapZeroAndErrorOne) {
  const Mask mask = FromRows({"1100", "0010", "0001"});
  const std::vector<double> sizes = {1, 3, 2, 2};
  EXPECT_EQ(SpectralGap(mask, sizes), 0.0);
  EXPECT_EQ(SpectralGapBound(mask, sizes), 0.0);
  EXPECT_NEAR(MaskingError(mask, sizes), 1.0, 1e-15);
}

TEST(MaskGraphTest, DisconnectedIsExactlyZeroWithoutSharedComponents) {
  // Two pairs of workers; one worker with nothing.
  EXPECT_EQ(SpectralGap(FromRows({"1100", "1100", "0011", "0011"}), {1, 1, 1, 1}), 0.0);
  EXPECT_EQ(SpectralGap(FromRows({"11", "11", "00"}), {1, 1}), 0.0);
  EXPECT_EQ(SpectralGapBound(FromRows({"11", "11", "00"}), {1, 1}), 0.0);
  EXPECT_GT(SpectralGap(FromRows({"1100", "1100", "0011", "0011"}), {1, 1, 1, 1}, 0.5), 0.0);
}

TEST(MaskGraphTest, TwoWorkersByHand) {
  const Mask mask = FromRows({"110", "011"});
  // W = [1.5 0.5; 0.5 1.5], P = (2, 2): T has eigenvalues 1 and 1/2; its trace is 1.5.
  EXPECT_NEAR(SpectralGap(mask, {1, 1, 1}), 0.5, 1e-12);
  EXPECT_NEAR(SpectralGapBound(mask, {1, 1, 1}), 0.5, 1e-12);
  // 2 x (2/3) x (1 - 1/2)
  EXPECT_NEAR(MaskingError(mask, {1, 1, 1}), 2.0 / 3, 1e-12);
  // With a shared part of 3: W = [3 2; 2 3], P = (5, 5).
  EXPECT_NEAR(SpectralGap(mask, {1, 1, 1}, 3), 0.8, 1e-12);
  EXPECT_NEAR(SpectralGapBound(mask, {1, 1, 1}, 3), 0.8, 1e-12);
  EXPECT_NEAR(MaskingError(mask, {1, 1, 1}, 3), 1.0 / 3, 1e-12);
}

TEST(MaskGraphTest, SizesWeigh) {
  // W = [2.5 0.5; 0.5 1.5], P = (3, 2): tr T = 2.5/3 + 0.75, so lambda_2 = 7/12.
  EXPECT_NEAR(SpectralGap(FromRows({"110", "011"}), {2, 1, 1}), 5.0 / 12, 1e-12);
}

TEST(MaskGraphTest, RingOfFourByHand) {
  const Mask mask = FromRows({"1001", "1100", "0110", "0011"});
  // T is circulant (1/2, 1/4, 0, 1/4): eigenvalues 1, 1/2, 1/2, 0; bound 1 - (2 - 1) / 3.
  EXPECT_NEAR(SpectralGap(mask, {1, 1, 1, 1}), 0.5, 1e-12);
  EXPECT_NEAR(SpectralGapBound(mask, {1, 1, 1, 1}), 2.0 / 3, 1e-12);
  EXPECT_NEAR(MaskingError(mask, {1, 1, 1, 1}), 4.0 / 3 * (0.5 - 0.25), 1e-12);
}

TEST(MaskGraphTest, BoundCountsDistinctHolderSets) {
  // Columns 0 and 1 have the same holders, so T has at most two non-zero eigenvalues, and the bound is met.
  const Mask mask = FromRows({"110", "111", "001"});
  const std::vector<double> sizes = {1, 1, 2};
  EXPECT_NEAR(SpectralGapBound(mask, sizes), SpectralGap(mask, sizes), 1e-12);
}

TEST(MaskGraphTest, AgreesWithASlowReference) {
  Random random(1);
  int connected = 0;
  for (int trial = 0; trial < 300; ++trial) {
    const int workers = 2 + static_cast<int>(random.Below(7));
    const int columns = 1 + static_cast<int>(random.Below(9));
    Mask mask(workers, columns);
    std::vector<double> sizes;
    for (int b = 0; b < columns; ++b) {
      sizes.push_back(0.5 + 10 * random.Unit());
      for (int i = 0; i < workers; ++i) mask.set(i, b, random.Below(2) == 0);
      mask.set(static_cast<Rank>(random.Below(workers)), b, true);
    }
    const double shared_size = trial % 2 == 0 ? 0.0 : 4 * random.Unit();
    EXPECT_NEAR(MaskingError(mask, sizes, shared_size), SlowMaskingError(mask, sizes, shared_size), 1e-12);
    if (shared_size == 0 && ConnectedParts(mask).size() > 1) continue;
    ++connected;
    const std::vector<double> values = JacobiEigenvalues(SlowT(mask, sizes, shared_size));
    EXPECT_NEAR(values.back(), 1.0, 1e-10);
    const double gap = SpectralGap(mask, sizes, shared_size);
    EXPECT_NEAR(gap, 1.0 - values[workers - 2], 1e-10) << trial;
    EXPECT_LE(gap, SpectralGapBound(mask, sizes, shared_size) + 1e-10) << trial;
  }
  EXPECT_GT(connected, 200);
}

Mask RandomMaskOf(int workers, int columns, int holders, Random& random) {
  Mask mask(workers, columns);
  for (int b = 0; b < columns; ++b) {
    for (int i = 0; i < holders; ++i) mask.set(static_cast<Rank>(random.Below(workers)), b, true);
  }
  for (Rank i = 0; i < workers; ++i) mask.set(i, i % columns, true);
  return mask;
}

TEST(MaskGraphTest, LanczosAgreesWithAllEigenvalues) {
  Random random(2);
  for (const auto& [workers, columns, holders] : std::vector<std::tuple<int, int, int>>{
           {2, 2, 1}, {3, 5, 2}, {20, 12, 3}, {12, 40, 2}, {150, 200, 6}, {300, 90, 20}, {200, 200, 100}}) {
    SCOPED_TRACE(testing::Message() << workers << " workers, " << columns << " columns");
    const Mask mask = RandomMaskOf(workers, columns, holders, random);
    std::vector<double> sizes;
    for (int b = 0; b < columns; ++b) sizes.push_back(0.5 + random.Unit());
    for (double shared_size : {0.0, 3.0}) {
      const double dense = SpectralGap(mask, sizes, shared_size, EigenMethod::kDense);
      EXPECT_NEAR(SpectralGap(mask, sizes, shared_size, EigenMethod::kLanczos), dense, 1e-9);
    }
  }
}

TEST(MaskGraphTest, LanczosFindsRepeatedAndCloseEigenvalues) {
  // A ring of 200: T is circulant, lambda_2 = (1 + cos(2 pi / 200)) / 2, twice.
  Mask ring(200, 200);
  for (Rank i = 0; i < 200; ++i) {
    ring.set(i, i, true);
    ring.set(i, (i + 1) % 200, true);
  }
  const std::vector<double> sizes(200, 1.0);
  const double expected = 0.5 - 0.5 * std::cos(2 * 3.14159265358979323846 / 200);
  EXPECT_NEAR(SpectralGap(ring, sizes, 0, EigenMethod::kLanczos), expected, 1e-10);
  EXPECT_NEAR(SpectralGap(ring, sizes, 0, EigenMethod::kDense), expected, 1e-10);
  // Two rings are disconnected: exactly 0, also for the iteration.
  for (int b : {0, 100}) {
    ring.set(b == 0 ? 199 : 99, b, false);
    ring.set(b == 0 ? 99 : 199, b, true);
  }
  EXPECT_EQ(SpectralGap(ring, sizes, 0, EigenMethod::kLanczos), 0.0);
  EXPECT_EQ(ConnectedParts(ring).size(), 2u);
}

TEST(MaskGraphTest, DistinctHolderSetsAreCountedOnce) {
  EXPECT_EQ(DistinctHolderSets(FromRows({"1101", "0110"})), 3);
  EXPECT_EQ(DistinctHolderSets(Mask::Full(3, 4)), 1);
}

TEST(MaskGraphTest, ConnectedPartsNamesThem) {
  EXPECT_THAT(ConnectedParts(FromRows({"1000", "0110", "1000", "0100", "0000"})),
              ElementsAre(ElementsAre(0, 2), ElementsAre(1, 3), ElementsAre(4)));
  EXPECT_EQ(ConnectedParts(FromRows({"10", "11", "01"})).size(), 1u);
}

TEST(MaskGraphTest, MinimumCoverage) {
  EXPECT_EQ(MinimumCoverage(FromRows({"110", "111", "100"})), 1);
  EXPECT_EQ(MinimumCoverage(FromRows({"110", "111", "101"})), 2);
  EXPECT_EQ(MinimumCoverage(Mask::Full(3, 4)), 3);
}

}  // namespace
}  // namespace sdp
