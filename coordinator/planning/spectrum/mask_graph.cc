#include "coordinator/planning/spectrum/mask_graph.h"

#include <algorithm>
#include <map>
#include <set>

#include "common/base/check.h"
#include "coordinator/planning/spectrum/averaging_factor.h"
#include "coordinator/planning/spectrum/disjoint_sets.h"

namespace sdp {
namespace {

using HolderSets = std::vector<std::vector<Rank>>;

// Up to so many workers or columns, all eigenvalues are found faster than one by iteration.
constexpr int kDenseLimit = 128;

int Distinct(const HolderSets& holders, int workers, double shared_size) {
  std::set<std::vector<Rank>> sets(holders.begin(), holders.end());
  if (shared_size > 0) sets.insert(Mask::Full(workers, 1).Holders(0));
  return static_cast<int>(sets.size());
}

std::vector<std::vector<Rank>> Parts(const HolderSets& holders, int workers) {
  DisjointSets sets(workers);
  for (const std::vector<Rank>& ranks : holders) {
    for (size_t i = 1; i < ranks.size(); ++i) sets.Merge(ranks[0], ranks[i]);
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

bool Connected(const HolderSets& holders, int workers, double shared_size) {
  return shared_size > 0 || Parts(holders, workers).size() == 1;
}

}  // namespace

std::vector<std::vector<Rank>> ConnectedParts(const Mask& mask) {
  return Parts(HolderLists(mask), mask.workers());
}

int DistinctHolderSets(const Mask& mask) { return Distinct(HolderLists(mask), mask.workers(), 0); }

double SpectralGap(const Mask& mask, const std::vector<double>& sizes, double shared_size,
                   EigenMethod method) {
  const HolderSets holders = HolderLists(mask);
  if (!Connected(holders, mask.workers(), shared_size)) return 0.0;
  if (mask.workers() == 1 || Distinct(holders, mask.workers(), shared_size) == 1) return 1.0;
  const AveragingFactor factor = MakeAveragingFactor(holders, mask.workers(), sizes, shared_size);
  if (method == EigenMethod::kAutomatic) {
    const bool small = std::min(factor.matrix.rows(), factor.matrix.cols()) <= kDenseLimit;
    method = small ? EigenMethod::kDense : EigenMethod::kLanczos;
  }
  const double second =
      method == EigenMethod::kDense ? SecondEigenvalueDense(factor) : SecondEigenvalueLanczos(factor);
  return std::clamp(1.0 - second, 0.0, 1.0);
}

double SpectralGapBound(const Mask& mask, const std::vector<double>& sizes, double shared_size) {
  const HolderSets holders = HolderLists(mask);
  if (!Connected(holders, mask.workers(), shared_size)) return 0.0;
  const int rank_limit = std::min(mask.workers(), Distinct(holders, mask.workers(), shared_size));
  if (rank_limit == 1) return 1.0;
  const double trace = MakeAveragingFactor(holders, mask.workers(), sizes, shared_size).matrix.squaredNorm();
  return std::clamp(1.0 - (trace - 1.0) / (rank_limit - 1), 0.0, 1.0);
}

double MaskingError(const Mask& mask, const std::vector<double>& sizes, double shared_size) {
  const double workers = mask.workers();
  if (mask.workers() <= 1) return 0.0;
  const HolderSets holder_sets = HolderLists(mask);
  double total = shared_size;
  double sum = 0.0;
  for (int b = 0; b < mask.columns(); ++b) {
    const double holders = static_cast<double>(holder_sets[b].size());
    SDP_CHECK(holders > 0, "a component without a holder has no averaging");
    sum += sizes[b] * (1.0 / holders - 1.0 / workers);
    total += sizes[b];
  }
  return workers / (workers - 1.0) * sum / total;
}

int MinimumCoverage(const Mask& mask) {
  int minimum = mask.workers();
  for (const std::vector<Rank>& ranks : HolderLists(mask)) {
    minimum = std::min(minimum, static_cast<int>(ranks.size()));
  }
  return minimum;
}

}  // namespace sdp
