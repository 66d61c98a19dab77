#include "coordinator/planning/masks/solve_balanced.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <tuple>

#include "absl/strings/str_format.h"
#include "common/base/status_macros.h"
#include "coordinator/planning/masks/adapt_mask.h"
#include "coordinator/planning/masks/balanced_mask.h"
#include "coordinator/planning/masks/depth_order.h"
#include "coordinator/planning/masks/explain_refusal.h"
#include "coordinator/planning/masks/holder_groups.h"
#include "coordinator/planning/search/search_gap.h"
#include "coordinator/planning/spectrum/averaging_factor.h"
#include "coordinator/planning/spectrum/mask_graph.h"

namespace sdp {
namespace {

// Where loads cannot be balanced to within kWorstLoad, a large gap may cost so much more than the most even
// assignment that was found.
constexpr double kSlack = 1.1;

int64_t HoldingsWanted(const MaskProblem& problem) {
  const int workers = static_cast<int>(problem.workers.size());
  const int columns = static_cast<int>(problem.components.size());
  if (problem.holders > 0) return int64_t{problem.holders} * columns;
  return HoldingsOf(problem.active_ratio, workers, columns);
}

double WorstLoadAllowed(const Mask& assigned, const LoadProblem& load_problem) {
  const double best = WorstLoad(assigned, load_problem);
  return best < kGoodBalance ? std::max(kWorstLoad, best) : kSlack * best;
}

// The mask that balances loads, with a gap as large as the search finds among such. Loads that are as even as
// can be may leave no way to connect the workers: then they are evened out less, within the budgets.
Mask BalanceByLoad(const MaskProblem& problem, const MaskLoads& loads, const Mask& assigned,
                   const LoadProblem& load_problem) {
  const double worst = WorstLoadAllowed(assigned, load_problem);
  Mask mask;
  for (double slack : {1.0, 1.1, 1.3, 2.0, 1e9}) {
    SearchLimits limits;
    limits.weights = loads.weights;
    for (Rank i = 0; i < assigned.workers(); ++i) {
      limits.load_limits.push_back(load_problem.MostLoad(i, slack * worst));
    }
    mask = SearchGap(
        loads.sizes, limits, [&](Random&) { return assigned; }, problem.seed);
    if (problem.allow_disconnected || ConnectedParts(mask).size() == 1) break;
  }
  return mask;
}

absl::Status CheckSources(const MaskProblem& problem) {
  if (problem.previous.columns() == 0) return absl::OkStatus();
  const Mask previous = PreviousByRank(problem);
  for (int b = 0; b < previous.columns(); ++b) {
    if (!previous.Holders(b).empty()) continue;
    return absl::FailedPreconditionError(absl::StrFormat(
        "nobody of those who stay holds %s: it must come from a checkpoint, and the mask be made afresh",
        ComponentName(problem, b)));
  }
  return absl::OkStatus();
}

AdaptProblem AdaptProblemOf(const MaskProblem& problem, const MaskLoads& loads, double worst) {
  AdaptProblem adapt;
  adapt.previous = PreviousByRank(problem);
  adapt.sizes = loads.sizes;
  if (!loads.uneven) {
    adapt.holdings = HoldingsWanted(problem);
  } else {
    adapt.loads = LoadProblemOf(loads, HolderCounts(problem));
    adapt.worst_load = worst;
  }
  return adapt;
}

absl::StatusOr<Mask> SolveGrouped(const MaskProblem& problem, int limit, std::vector<std::string>& reasons) {
  const std::vector<int> group = GroupColumns(problem, limit);
  const MaskProblem grouped = GroupedProblem(problem, group);
  const int groups = static_cast<int>(grouped.components.size());
  absl::StatusOr<Mask> few = SolveBalanced(grouped, reasons);
  if (!few.ok()) {
    return absl::FailedPreconditionError(absl::StrFormat(
        "with at most %d holder sets (masking.max_holder_sets), %d components share holders in %d "
        "groups: %s",
        limit, group.size(), groups, few.status().message()));
  }
  Mask mask(few->workers(), static_cast<int>(group.size()));
  for (Rank i = 0; i < mask.workers(); ++i) {
    for (int b = 0; b < mask.columns(); ++b) mask.set(i, b, few->holds(i, group[b]));
  }
  reasons.push_back(
      absl::StrFormat("%d components in %d groups with the same holders: at most %d holder sets",
                      group.size(), groups, limit));
  return mask;
}

// A mask that moves nothing yet: what lies where in the depth is still free.
Mask SpreadOverDepth(const Mask& mask, const MaskProblem& problem) {
  using Kind = std::tuple<double, int64_t, double>;
  std::map<Kind, int> numbers;
  std::vector<int> kinds;
  for (const MaskComponent& component : problem.components) {
    const Kind kind(component.size, component.memory_bytes, component.time);
    kinds.push_back(numbers.emplace(kind, static_cast<int>(numbers.size())).first->second);
  }
  return SpreadOverDepth(mask, kinds);
}

// A mask near the previous one, connected and with a gap near `fresh_gap`, which a mask made from nothing
// has. Where the least that must move leaves no such mask, somewhat more moves: a mask is in force for long.
// None when the repair of the previous mask fails.
absl::optional<Mask> Adapt(const MaskProblem& problem, const AdaptProblem& adapt, double fresh_gap,
                           std::vector<std::string>& reasons) {
  constexpr double kMovedShares[] = {1.2, 1.5, 2, 3, 5};  // of the lower bound
  constexpr double kGoodGap = 0.97;
  absl::optional<Mask> best;
  double best_gap = 0;
  for (double share : kMovedShares) {
    absl::optional<Mask> adapted = AdaptMask(adapt, share, problem.seed);
    if (!adapted || ConnectedParts(*adapted).size() > 1) continue;
    const double gap = SpectralGap(*adapted, adapt.sizes);
    if (best && share > kMovedShares[0] && gap > best_gap + 1e-9) {
      reasons.push_back(absl::StrFormat(
          "moves up to %.4g x the least possible: with less, the gap is %.4f at most", share, best_gap));
    }
    if (!best || gap > best_gap + 1e-9) {
      best = std::move(adapted);
      best_gap = gap;
    }
    if (best_gap >= kGoodGap * fresh_gap) break;
  }
  return best;
}

// By number of components, for components and workers that are alike.
absl::StatusOr<Mask> SolveEven(const MaskProblem& problem, const MaskLoads& loads,
                               std::vector<std::string>& reasons) {
  const int64_t holdings = HoldingsWanted(problem);
  const int workers = static_cast<int>(problem.workers.size());
  const int columns = static_cast<int>(loads.sizes.size());
  if (holdings == int64_t{workers} * columns) return Mask::Full(workers, columns);
  if (holdings < MinimumHoldings(workers, columns)) {
    reasons.push_back("too few holdings to connect the workers, which the spec allows");
    return SpreadOverDepth(DisconnectedBalancedMask(workers, columns, holdings, problem.seed), problem);
  }
  const Mask fresh = SpreadOverDepth(BalancedMask(workers, loads.sizes, holdings, problem.seed), problem);
  if (problem.previous.columns() > 0) {
    const AdaptProblem adapt = AdaptProblemOf(problem, loads, 0);
    const auto adapted = Adapt(problem, adapt, SpectralGap(fresh, loads.sizes), reasons);
    if (adapted) return *adapted;
    reasons.push_back("made from nothing: no mask near the previous one is balanced and connected");
  }
  reasons.push_back("components and workers are alike: loads are balanced by number of components");
  return fresh;
}

absl::StatusOr<Mask> SolveUneven(const MaskProblem& problem, const MaskLoads& loads,
                                 std::vector<std::string>& reasons) {
  const std::vector<int> holders = HolderCounts(problem);
  const LoadProblem load_problem = LoadProblemOf(loads, holders);
  SearchOutcome outcome;
  const absl::optional<Mask> assigned = BalanceLoads(load_problem, problem.seed, &outcome);
  if (!assigned) return NoAssignment(problem, loads, holders, outcome);
  const Mask mask = SpreadOverDepth(BalanceByLoad(problem, loads, *assigned, load_problem), problem);
  if (problem.previous.columns() > 0) {
    const double fresh_gap = SpectralGap(mask, loads.sizes);
    // Rather somewhat less even than everything moved.
    for (double slack : {1.0, kSlack, kSlack * kSlack}) {
      const double worst = slack * WorstLoadAllowed(*assigned, load_problem);
      const auto adapted = Adapt(problem, AdaptProblemOf(problem, loads, worst), fresh_gap, reasons);
      if (adapted) return *adapted;
    }
    reasons.push_back("made from nothing: no mask near the previous one is balanced and connected");
  }
  reasons.push_back(absl::StrFormat(
      "components or workers differ: loads are balanced by %s, the largest is at %.3f of its worker's share",
      problem.equal_samples && !loads.limited ? "time" : "memory", WorstLoad(mask, load_problem)));
  return mask;
}

}  // namespace

Mask PreviousByRank(const MaskProblem& problem) {
  Mask previous(static_cast<int>(problem.workers.size()), static_cast<int>(problem.components.size()));
  for (Rank i = 0; i < previous.workers(); ++i) {
    const Rank before = problem.workers[i].previous;
    if (before < 0) continue;
    for (int b = 0; b < previous.columns(); ++b) previous.set(i, b, problem.previous.holds(before, b));
  }
  return previous;
}

double MovedBytesLowerBound(const MaskProblem& problem, const Mask& mask) {
  const MaskLoads loads = LoadsOf(problem);
  const double worst = WorstLoad(mask, LoadProblemOf(loads, HolderCounts(problem)));
  return MovedLowerBound(AdaptProblemOf(problem, loads, worst)) * kStateBytesPerParameter;
}

absl::StatusOr<Mask> SolveBalanced(const MaskProblem& problem, std::vector<std::string>& reasons) {
  SDP_RETURN_IF_ERROR(CheckSources(problem));
  const int limit = HolderSetLimit(problem);
  if (limit > 0 && limit < static_cast<int>(problem.components.size())) {
    return SolveGrouped(problem, limit, reasons);
  }
  const MaskLoads loads = LoadsOf(problem);
  const std::vector<int> holders = HolderCounts(problem);
  const int64_t holdings =
      loads.uneven ? std::accumulate(holders.begin(), holders.end(), int64_t{0}) : HoldingsWanted(problem);
  SDP_RETURN_IF_ERROR(CheckHoldings(problem, holdings));
  SDP_RETURN_IF_ERROR(CheckRoom(problem, loads, holders));
  const int64_t workers = static_cast<int64_t>(problem.workers.size());
  const int64_t most_held = (holdings + workers - 1) / workers;  // by anyone, when all are alike
  if (!loads.uneven && static_cast<double>(most_held) * loads.weights[0] > loads.room[0]) {
    return NoAssignment(problem, loads, holders, SearchOutcome::kImpossible);
  }
  return loads.uneven ? SolveUneven(problem, loads, reasons) : SolveEven(problem, loads, reasons);
}

}  // namespace sdp
