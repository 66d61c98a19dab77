#include "coordinator/planning/mask_graph.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "Eigen/Eigenvalues"
#include "common/base/check.h"
#include "coordinator/planning/disjoint_sets.h"

namespace sdp {
namespace {

// A with T = A A^T: A_ib = m_ib sqrt(p_b / (k_b P_i)), and one more column for the shared components when
// they have a size. Every rank must hold something.
Eigen::MatrixXd AveragingFactor(const Mask& mask, const std::vector<double>& sizes, double shared_size) {
  const int workers = mask.workers();
  const int columns = mask.columns();
  Eigen::MatrixXd factor = Eigen::MatrixXd::Zero(workers, columns + (shared_size > 0 ? 1 : 0));
  Eigen::VectorXd held = Eigen::VectorXd::Constant(workers, shared_size);  // P_i
  for (int b = 0; b < columns; ++b) {
    const std::vector<Rank> holders = mask.Holders(b);
    for (Rank i : holders) {
      factor(i, b) = std::sqrt(sizes[b] / static_cast<double>(holders.size()));
      held(i) += sizes[b];
    }
  }
  if (shared_size > 0) factor.col(columns).setConstant(std::sqrt(shared_size / workers));
  return held.cwiseSqrt().cwiseInverse().asDiagonal() * factor;
}

int DistinctHolderSets(const Mask& mask, double shared_size) {
  std::set<std::vector<Rank>> sets;
  for (int b = 0; b < mask.columns(); ++b) sets.insert(mask.Holders(b));
  if (shared_size > 0) sets.insert(Mask::Full(mask.workers(), 1).Holders(0));
  return static_cast<int>(sets.size());
}

bool Connected(const Mask& mask, double shared_size) {
  return shared_size > 0 || ConnectedParts(mask).size() == 1;
}

}  // namespace

std::vector<std::vector<Rank>> ConnectedParts(const Mask& mask) {
  const int workers = mask.workers();
  DisjointSets sets(workers);
  for (int b = 0; b < mask.columns(); ++b) {
    const std::vector<Rank> holders = mask.Holders(b);
    for (size_t i = 1; i < holders.size(); ++i) sets.Merge(holders[0], holders[i]);
  }
  std::map<int, int> part_of;  // representative to index of its part
  std::vector<std::vector<Rank>> parts;
  for (Rank rank = 0; rank < workers; ++rank) {
    const auto [found, added] = part_of.emplace(sets.Find(rank), static_cast<int>(parts.size()));
    if (added) parts.emplace_back();
    parts[found->second].push_back(rank);
  }
  return parts;
}

double SpectralGap(const Mask& mask, const std::vector<double>& sizes, double shared_size) {
  if (!Connected(mask, shared_size)) return 0.0;
  if (mask.workers() == 1 || DistinctHolderSets(mask, shared_size) == 1) return 1.0;
  const Eigen::MatrixXd factor = AveragingFactor(mask, sizes, shared_size);
  // A A^T and A^T A have the same non-zero eigenvalues: take the smaller one.
  Eigen::MatrixXd gram;
  if (factor.rows() <= factor.cols()) {
    gram.noalias() = factor * factor.transpose();
  } else {
    gram.noalias() = factor.transpose() * factor;
  }
  const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> solver(gram, Eigen::EigenvaluesOnly);
  SDP_CHECK(solver.info() == Eigen::Success, "eigenvalues of a symmetric matrix did not converge");
  const double second = solver.eigenvalues()(gram.rows() - 2);  // ascending; the last one is 1
  return std::clamp(1.0 - second, 0.0, 1.0);
}

double SpectralGapBound(const Mask& mask, const std::vector<double>& sizes, double shared_size) {
  if (!Connected(mask, shared_size)) return 0.0;
  const int rank_limit = std::min(mask.workers(), DistinctHolderSets(mask, shared_size));
  if (rank_limit == 1) return 1.0;
  const double trace = AveragingFactor(mask, sizes, shared_size).squaredNorm();
  return std::clamp(1.0 - (trace - 1.0) / (rank_limit - 1), 0.0, 1.0);
}

double MaskingError(const Mask& mask, const std::vector<double>& sizes, double shared_size) {
  const double workers = mask.workers();
  if (mask.workers() <= 1) return 0.0;
  double total = shared_size;
  double sum = 0.0;
  for (int b = 0; b < mask.columns(); ++b) {
    const double holders = static_cast<double>(mask.Holders(b).size());
    SDP_CHECK(holders > 0, "a component without a holder has no averaging");
    sum += sizes[b] * (1.0 / holders - 1.0 / workers);
    total += sizes[b];
  }
  return workers / (workers - 1.0) * sum / total;
}

int MinimumCoverage(const Mask& mask) {
  int minimum = mask.workers();
  for (int b = 0; b < mask.columns(); ++b) {
    minimum = std::min(minimum, static_cast<int>(mask.Holders(b).size()));
  }
  return minimum;
}

}  // namespace sdp
