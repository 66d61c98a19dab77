#include "coordinator/planning/spectrum/schedule_spectrum.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <utility>

#include "Eigen/Eigenvalues"
#include "common/base/check.h"
#include "common/base/random.h"
#include "coordinator/planning/spectrum/averaging_factor.h"

namespace sdp {
namespace {

using Vector = Eigen::VectorXd;

// Up to so many workers all eigenvalues are computed.
constexpr int kDenseLimit = 200;

// Two factors of M: M = D^(-1/2) A A^T D^(1/2), with T = A A^T.
struct Walk {
  AveragingFactor factor;
  Vector root_held;  // sqrt(P_i)

  Vector Times(const Vector& x) const {
    const Vector scaled = root_held.cwiseProduct(x);
    const Vector middle = factor.matrix.transpose() * scaled;
    return (factor.matrix * middle).cwiseQuotient(root_held);
  }
};

// The mean or the product of walks, as a product with vectors.
class Combined {
 public:
  Combined(const std::vector<Walk>& walks, bool product) : walks_(walks), product_(product) {}

  Eigen::Index size() const { return walks_[0].root_held.size(); }

  Vector Times(const Vector& x) const {
    if (product_) {
      Vector y = x;
      for (const Walk& walk : walks_) y = walk.Times(y);
      return y;
    }
    Vector sum = Vector::Zero(size());
    for (const Walk& walk : walks_) sum += walk.Times(x);
    return sum / static_cast<double>(walks_.size());
  }

 private:
  const std::vector<Walk>& walks_;
  const bool product_;
};

// The second largest absolute eigenvalue of a square matrix.
double SecondMagnitudeOf(const Eigen::MatrixXd& matrix) {
  const Eigen::EigenSolver<Eigen::MatrixXd> solver(matrix, /*computeEigenvectors=*/false);
  SDP_CHECK(solver.info() == Eigen::Success, "eigenvalues of an averaging operator did not converge");
  std::vector<double> magnitudes;
  for (Eigen::Index i = 0; i < matrix.rows(); ++i) magnitudes.push_back(std::abs(solver.eigenvalues()(i)));
  std::nth_element(magnitudes.begin(), magnitudes.begin() + 1, magnitudes.end(), std::greater<double>());
  return std::clamp(magnitudes[1], 0.0, 1.0);
}

// The same by Arnoldi iteration, with a subspace that grows until the result stays.
double SecondMagnitudeArnoldi(const Combined& combined) {
  constexpr double kTolerance = 1e-9;
  const Eigen::Index n = combined.size();
  Eigen::MatrixXd basis(n, n + 1);
  Eigen::MatrixXd projected = Eigen::MatrixXd::Zero(n + 1, n);  // upper Hessenberg
  Random random(1);  // the start must have a share of every eigenvector; any fixed one is as good
  basis.col(0) = Vector::NullaryExpr(n, [&] { return random.Unit() - 0.5; }).normalized();
  double last = -1;
  Eigen::Index next_look = 32;
  for (Eigen::Index m = 1; m <= n; ++m) {
    Vector next = combined.Times(basis.col(m - 1));
    for (int pass = 0; pass < 2; ++pass) {  // the second removes what rounding left of the first
      const Vector shares = basis.leftCols(m).transpose() * next;
      next -= basis.leftCols(m) * shares;
      projected.col(m - 1).head(m) += shares;
    }
    projected(m, m - 1) = next.norm();
    const bool complete = m == n || projected(m, m - 1) < 1e-12;
    if (!complete) basis.col(m) = next / projected(m, m - 1);
    if (m < 2 || (!complete && m < next_look)) continue;
    const double second = SecondMagnitudeOf(projected.topLeftCorner(m, m));
    if (complete || std::abs(second - last) < kTolerance) return second;
    last = second;
    next_look = m + m / 2;
  }
  return last;
}

// |lambda_2| of an operator whose first eigenvalue is 1.
double SecondMagnitude(const Combined& combined) {
  if (combined.size() < 2) return 0.0;
  if (combined.size() > kDenseLimit) return SecondMagnitudeArnoldi(combined);
  Eigen::MatrixXd matrix(combined.size(), combined.size());
  for (Eigen::Index i = 0; i < matrix.cols(); ++i) {
    matrix.col(i) = combined.Times(Vector::Unit(matrix.rows(), i));
  }
  return SecondMagnitudeOf(matrix);
}

}  // namespace

ScheduleSpectrum SpectrumOfSchedule(const std::vector<Mask>& masks, const std::vector<double>& sizes) {
  SDP_CHECK(!masks.empty(), "a schedule has at least one mask");
  std::vector<Walk> walks;
  for (const Mask& mask : masks) {
    Walk walk{MakeAveragingFactor(HolderLists(mask), mask.workers(), sizes, 0), {}};
    walk.root_held = walk.factor.held.cwiseSqrt();
    walks.push_back(std::move(walk));
  }
  ScheduleSpectrum spectrum;
  spectrum.mean_gap = 1.0 - SecondMagnitude(Combined(walks, /*product=*/false));
  const double second = SecondMagnitude(Combined(walks, /*product=*/true));
  spectrum.product_gap = 1.0 - std::pow(second, 1.0 / static_cast<double>(walks.size()));
  return spectrum;
}

}  // namespace sdp
