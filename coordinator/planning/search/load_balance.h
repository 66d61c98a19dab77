// Who can hold how much: assignments of unequal components to unequal workers that balance a load.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "absl/types/optional.h"
#include "common/model/mask.h"

namespace sdp {

// Loads whose largest is below this share of its target are balanced well.
inline constexpr double kGoodBalance = 1.05;
// What searches under that bar keep to, with some room for what they do not see.
inline constexpr double kWorstLoad = 1.045;

struct LoadProblem {
  std::vector<double> weights;  // load of each component, positive
  std::vector<int> holders;     // wanted number of holders of each component, 1 .. workers
  std::vector<double> targets;  // wanted load of each worker, positive
  std::vector<double> limits;   // load that a worker can carry, at least 0

  // Load that a worker may have when none may exceed `worst` times its target.
  double MostLoad(Rank rank, double worst) const { return std::min(limits[rank], worst * targets[rank]); }
};

// Load of each worker.
std::vector<double> Loads(const Mask& mask, const std::vector<double>& weights);

// The largest load divided by its target.
double WorstLoad(const Mask& mask, const LoadProblem& problem);

// Shares `total` in proportion to `capacities`, but no worker gets more than its `most`. The capacities are
// positive; of a total above the sum of `most` the rest is left.
std::vector<double> ShareLoad(double total, const std::vector<double>& most,
                              const std::vector<double>& capacities);

enum class SearchOutcome { kFound, kImpossible, kGaveUp };

// Whether any mask has the wanted holders, every load within its limit and at most `worst` times its target:
// depth-first branch and bound over components from the heaviest, which gives up after `nodes` of them. On
// kFound, `*mask` is one; workers may be left with nothing.
SearchOutcome BranchAndBound(const LoadProblem& problem, double worst, int64_t nodes, Mask* mask);

// A mask with the wanted holders in which every worker holds something and no load exceeds its limit, the
// loads close to their targets: heaviest first onto the least loaded, improved by annealing, then, where that
// leaves more than 1.05 of a target on a small problem, by branch and bound. Seeds give different masks. None
// when none was found; `*outcome` then says whether there is none.
absl::optional<Mask> BalanceLoads(const LoadProblem& problem, uint64_t seed, SearchOutcome* outcome);

}  // namespace sdp
