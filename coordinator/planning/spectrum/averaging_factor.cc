#include "coordinator/planning/spectrum/averaging_factor.h"

#include <algorithm>
#include <cmath>

#include "Eigen/Eigenvalues"
#include "Spectra/SymEigsSolver.h"
#include "common/base/check.h"

namespace sdp {
namespace {

using Vector = Eigen::VectorXd;

// The smaller of A A^T and A^T A without its first eigenpair (1, v), as a product with vectors.
class DeflatedGram {
 public:
  using Scalar = double;  // Spectra asks for this name

  explicit DeflatedGram(const AveragingFactor& factor)
      : a_(factor.matrix), by_workers_(a_.rows() <= a_.cols()) {
    first_ = factor.held.cwiseSqrt().normalized();  // T sqrt(P) = sqrt(P)
    if (!by_workers_) first_ = (a_.transpose() * first_).normalized();
  }

  Eigen::Index rows() const { return first_.size(); }
  Eigen::Index cols() const { return first_.size(); }

  void perform_op(const double* in, double* out) const {  // NOLINT: Spectra's name
    const Eigen::Map<const Vector> x(in, rows());
    Eigen::Map<Vector> y(out, rows());
    if (by_workers_) {
      const Vector middle = a_.transpose() * x;
      y.noalias() = a_ * middle;
    } else {
      const Vector middle = a_ * x;
      y.noalias() = a_.transpose() * middle;
    }
    y -= first_.dot(x) * first_;
  }

 private:
  const Eigen::SparseMatrix<double, Eigen::RowMajor>& a_;
  const bool by_workers_;
  Vector first_;
};

}  // namespace

std::vector<std::vector<Rank>> HolderLists(const Mask& mask) {
  std::vector<std::vector<Rank>> holders(mask.columns());
  for (Rank rank = 0; rank < mask.workers(); ++rank) {
    for (int column = 0; column < mask.columns(); ++column) {
      if (mask.holds(rank, column)) holders[column].push_back(rank);
    }
  }
  return holders;
}

AveragingFactor MakeAveragingFactor(const std::vector<std::vector<Rank>>& holders, int workers,
                                    const std::vector<double>& sizes, double shared_size) {
  const int columns = static_cast<int>(holders.size());
  AveragingFactor factor;
  factor.held = Vector::Constant(workers, shared_size);
  for (int b = 0; b < columns; ++b) {
    for (Rank i : holders[b]) factor.held(i) += sizes[b];
  }
  std::vector<Eigen::Triplet<double>> entries;
  for (int b = 0; b < columns; ++b) {
    const double share = sizes[b] / static_cast<double>(holders[b].size());
    for (Rank i : holders[b]) entries.emplace_back(i, b, std::sqrt(share / factor.held(i)));
  }
  if (shared_size > 0) {
    for (Rank i = 0; i < workers; ++i) {
      entries.emplace_back(i, columns, std::sqrt(shared_size / workers / factor.held(i)));
    }
  }
  factor.matrix.resize(workers, columns + (shared_size > 0 ? 1 : 0));
  factor.matrix.setFromTriplets(entries.begin(), entries.end());
  return factor;
}

double SecondEigenvalueDense(const AveragingFactor& factor) {
  const Eigen::MatrixXd a(factor.matrix);
  // A A^T and A^T A have the same non-zero eigenvalues: take the smaller one.
  Eigen::MatrixXd gram;
  if (a.rows() <= a.cols()) {
    gram.noalias() = a * a.transpose();
  } else {
    gram.noalias() = a.transpose() * a;
  }
  const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> solver(gram, Eigen::EigenvaluesOnly);
  SDP_CHECK(solver.info() == Eigen::Success, "eigenvalues of a symmetric matrix did not converge");
  return solver.eigenvalues()(gram.rows() - 2);  // ascending; the last one is 1
}

double SecondEigenvalueLanczos(const AveragingFactor& factor) {
  constexpr int kSubspace = 48;
  constexpr int kRestarts = 1000;
  constexpr double kTolerance = 1e-11;
  DeflatedGram gram(factor);
  const int subspace = static_cast<int>(std::min<Eigen::Index>(gram.rows(), kSubspace));
  if (subspace < 3) return SecondEigenvalueDense(factor);
  Spectra::SymEigsSolver<DeflatedGram> solver(gram, 1, subspace);
  solver.init();  // from a fixed vector: the same on every run
  if (solver.compute(Spectra::SortRule::LargestAlge, kRestarts, kTolerance) < 1) {
    return SecondEigenvalueDense(factor);
  }
  return solver.eigenvalues()(0);
}

}  // namespace sdp
