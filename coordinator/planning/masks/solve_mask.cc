#include <algorithm>
#include <functional>
#include <numeric>
#include <string>
#include <tuple>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/base/quantities.h"
#include "common/base/status_macros.h"
#include "coordinator/planning/masks/adapt_mask.h"
#include "coordinator/planning/masks/balanced_mask.h"
#include "coordinator/planning/masks/explain_refusal.h"
#include "coordinator/planning/masks/mask_loads.h"
#include "coordinator/planning/masks/mask_problem.h"
#include "coordinator/planning/masks/simple_masks.h"
#include "coordinator/planning/masks/solve_balanced.h"
#include "coordinator/planning/spectrum/mask_graph.h"

namespace sdp {
namespace {

absl::Status CheckPrevious(const MaskProblem& problem) {
  if (problem.previous.columns() == 0) return absl::OkStatus();
  if (problem.previous.columns() != static_cast<int>(problem.components.size())) {
    return absl::InvalidArgumentError(
        absl::StrFormat("the previous mask has %d columns, but there are %d components",
                        problem.previous.columns(), problem.components.size()));
  }
  std::vector<char> taken(problem.previous.workers(), 0);
  for (const MaskWorker& worker : problem.workers) {
    if (worker.previous < 0) continue;
    if (worker.previous >= problem.previous.workers() || taken[worker.previous] != 0) {
      return absl::InvalidArgumentError(absl::StrFormat("previous rank %d is %s", worker.previous,
                                                        worker.previous >= problem.previous.workers()
                                                            ? "not in the previous mask"
                                                            : "given to two workers"));
    }
    taken[worker.previous] = 1;
  }
  return absl::OkStatus();
}

absl::Status CheckProblem(const MaskProblem& problem) {
  if (problem.workers.empty()) return absl::InvalidArgumentError("a mask needs at least one worker");
  if (problem.components.empty()) return absl::InvalidArgumentError("a mask needs at least one component");
  for (size_t b = 0; b < problem.components.size(); ++b) {
    if (problem.components[b].size > 0 && problem.components[b].memory_bytes >= 0) continue;
    return absl::InvalidArgumentError(
        absl::StrFormat("%s has size %g and %d bytes; the size must be positive, the bytes not negative",
                        ComponentName(problem, static_cast<int>(b)), problem.components[b].size,
                        problem.components[b].memory_bytes));
  }
  for (size_t i = 0; i < problem.workers.size(); ++i) {
    const WorkerProfile& profile = problem.workers[i].profile;
    if (profile.relative_speed > 0 && profile.memory_budget_bytes >= 0) continue;
    return absl::InvalidArgumentError(absl::StrFormat(
        "%s has relative speed %g and a memory budget of %d bytes; the speed must be positive, the budget "
        "not negative",
        WorkerNameOf(problem, static_cast<Rank>(i)), profile.relative_speed, profile.memory_budget_bytes));
  }
  return CheckPrevious(problem);
}

absl::Status CheckWish(const MaskProblem& problem) {
  const int workers = static_cast<int>(problem.workers.size());
  if (problem.holders < 0 || problem.holders > workers) {
    return absl::FailedPreconditionError(absl::StrFormat(
        "%d holders for each component are wanted, but there are %d workers; it must be between "
        "1 and that",
        problem.holders, workers));
  }
  if (problem.holders == 0 && !(problem.active_ratio > 0 && problem.active_ratio <= 1)) {
    return absl::FailedPreconditionError(absl::StrFormat(
        "masking.active_ratio is %g; it must be above 0 and at most 1", problem.active_ratio));
  }
  return absl::OkStatus();
}

absl::Status CheckHolderSets(const MaskProblem& problem, const Mask& mask) {
  const int sets = DistinctHolderSets(mask);
  if (problem.max_holder_sets == 0 || sets <= problem.max_holder_sets) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrFormat("the mask has %d different holder sets, but masking.max_holder_sets is %d; allow more, "
                      "or use the balanced generator, which keeps to it",
                      sets, problem.max_holder_sets));
}

absl::StatusOr<Mask> ExplicitMask(const MaskProblem& problem) {
  const auto count = [](size_t n, const char* noun) { return absl::StrCat(n, " ", noun, n == 1 ? "" : "s"); };
  const size_t workers = problem.workers.size();
  const size_t components = problem.components.size();
  if (problem.matrix.size() != workers) {
    return absl::FailedPreconditionError(absl::StrFormat("masking.matrix has %s, but the job runs on %s",
                                                         count(problem.matrix.size(), "row"),
                                                         count(workers, "worker")));
  }
  Mask mask(static_cast<int>(workers), static_cast<int>(components));
  for (Rank rank = 0; rank < mask.workers(); ++rank) {
    const std::vector<bool>& row = problem.matrix[rank];
    if (row.size() != components) {
      return absl::FailedPreconditionError(
          absl::StrFormat("masking.matrix row %d has %s, but the model has %s", rank,
                          count(row.size(), "column"), count(components, "maskable component")));
    }
    for (int column = 0; column < mask.columns(); ++column) mask.set(rank, column, row[column]);
  }
  return mask;
}

const char* MaskName(const MaskProblem& problem) {
  return problem.generator == MaskGenerator::kExplicit ? "masking.matrix" : "the mask";
}

absl::Status CheckNothingEmpty(const MaskProblem& problem, const Mask& mask) {
  const char* what = MaskName(problem);
  for (Rank rank = 0; rank < mask.workers(); ++rank) {
    if (mask.Held(rank) > 0) continue;
    return absl::FailedPreconditionError(
        problem.generator == MaskGenerator::kExplicit
            ? absl::StrFormat("%s row %d is empty: the worker of that rank would hold no component", what,
                              rank)
            : absl::StrFormat(
                  "%s would hold no component: the windows are too short to reach everyone; use a larger "
                  "active_ratio or the balanced generator",
                  WorkerNameOf(problem, rank)));
  }
  for (int column = 0; column < mask.columns(); ++column) {
    if (!mask.Holders(column).empty()) continue;
    return absl::FailedPreconditionError(
        absl::StrFormat("%s column %d is empty: nobody would hold that component", what, column));
  }
  return absl::OkStatus();
}

// The mask of generators that follow a rule, before it is checked.
absl::StatusOr<Mask> RuleMask(const MaskProblem& problem, std::vector<std::string>& reasons) {
  const int workers = static_cast<int>(problem.workers.size());
  const std::vector<double> sizes = LoadsOf(problem).sizes;
  const int columns = static_cast<int>(sizes.size());
  if (problem.generator == MaskGenerator::kExplicit) return ExplicitMask(problem);
  if (problem.generator == MaskGenerator::kFull) return Mask::Full(workers, columns);
  SDP_RETURN_IF_ERROR(CheckWish(problem));
  const double ratio =
      problem.holders > 0 ? static_cast<double>(problem.holders) / workers : problem.active_ratio;
  SDP_RETURN_IF_ERROR(CheckHoldings(problem, HoldingsOf(ratio, workers, columns)));
  if (problem.generator == MaskGenerator::kCyclic) return CyclicMask(workers, sizes, ratio);
  bool repaired = false;
  Mask mask = RandomMask(workers, sizes, ratio, !problem.allow_disconnected, problem.seed, &repaired);
  if (repaired)
    reasons.push_back("no draw gave everyone a component and all a connection: the last was repaired");
  return mask;
}

absl::StatusOr<Mask> ChooseOrdered(const MaskProblem& problem, std::vector<std::string>& reasons) {
  if (problem.generator == MaskGenerator::kBalanced) {
    SDP_RETURN_IF_ERROR(CheckWish(problem));
    return SolveBalanced(problem, reasons);
  }
  SDP_ASSIGN_OR_RETURN(Mask mask, RuleMask(problem, reasons));
  SDP_RETURN_IF_ERROR(CheckNothingEmpty(problem, mask));
  SDP_RETURN_IF_ERROR(CheckBudgets(problem, mask));
  SDP_RETURN_IF_ERROR(CheckHolderSets(problem, mask));
  return mask;
}

// Workers in an order that does not depend on their ranks, as far as they can be told apart.
std::vector<Rank> CanonicalOrder(const MaskProblem& problem) {
  std::vector<Rank> order(problem.workers.size());
  std::iota(order.begin(), order.end(), 0);
  if (problem.generator == MaskGenerator::kExplicit) return order;  // rows are by rank
  std::stable_sort(order.begin(), order.end(), [&](Rank a, Rank b) {
    const auto key = [&](Rank rank) {
      const MaskWorker& worker = problem.workers[rank];
      // Newcomers last, so that the others keep their order.
      return std::make_tuple(-worker.profile.memory_budget_bytes, -worker.profile.relative_speed,
                             worker.previous < 0, worker.previous, std::cref(worker.name));
    };
    return key(a) < key(b);
  });
  return order;
}

void Summarize(const MaskProblem& problem, MaskSolution& solution) {
  const Mask& mask = solution.mask;
  const std::vector<double> sizes = LoadsOf(problem).sizes;
  solution.gap = SpectralGap(mask, sizes);
  solution.gap_bound = SpectralGapBound(mask, sizes);
  solution.gap_with_shared =
      problem.shared_size > 0 ? SpectralGap(mask, sizes, problem.shared_size) : solution.gap;
  solution.masking_error = MaskingError(mask, sizes, problem.shared_size);
  solution.coverage_minimum = MinimumCoverage(mask);
  solution.holder_sets = DistinctHolderSets(mask);
  double largest = 0, sum = 0;
  for (double load : Loads(mask, MemoryByColumn(problem))) {
    const size_t rank = solution.memory_bytes.size();
    solution.memory_bytes.push_back(static_cast<int64_t>(load + NeededBesideComponents(problem, rank)));
    largest = std::max(largest, load);
    sum += load;
  }
  solution.memory_imbalance = largest * mask.workers() / sum;
}

// The mask by the problem's own ranks.
absl::StatusOr<Mask> ChooseByRank(const MaskProblem& problem, std::vector<std::string>& reasons) {
  SDP_RETURN_IF_ERROR(CheckProblem(problem));
  const std::vector<Rank> order = CanonicalOrder(problem);
  MaskProblem ordered = problem;
  for (size_t i = 0; i < order.size(); ++i) {
    ordered.workers[i] = problem.workers[order[i]];
    // Messages name workers by the ranks that the caller knows.
    if (ordered.workers[i].name.empty()) ordered.workers[i].name = absl::StrCat(order[i]);
  }
  SDP_ASSIGN_OR_RETURN(const Mask mask, ChooseOrdered(ordered, reasons));
  Mask by_rank(mask.workers(), mask.columns());
  for (Rank i = 0; i < mask.workers(); ++i) {
    for (int b = 0; b < mask.columns(); ++b) by_rank.set(order[i], b, mask.holds(i, b));
  }
  if (!problem.allow_disconnected) SDP_RETURN_IF_ERROR(CheckConnected(by_rank, MaskName(problem)));
  if (const std::string parts = DescribeParts(by_rank); !parts.empty()) {
    reasons.push_back(absl::StrCat("disconnected, which the spec allows: the ranks ", parts,
                                   " share no component with each other, so the gap is 0"));
  }
  return by_rank;
}

// What the change from the previous mask costs, and what a mask from nothing would be worth.
absl::Status CompareWithFresh(const MaskProblem& problem, MaskSolution& solution) {
  const Mask previous = PreviousByRank(problem);
  const std::vector<double> sizes = LoadsOf(problem).sizes;
  solution.moved_bytes = MovedSize(solution.mask, previous, sizes) * kStateBytesPerParameter;
  solution.moved_bytes_lower_bound = MovedBytesLowerBound(problem, solution.mask);
  MaskProblem afresh = problem;
  afresh.previous = Mask();
  std::vector<std::string> ignored_reasons;
  SDP_ASSIGN_OR_RETURN(const Mask fresh, ChooseByRank(afresh, ignored_reasons));
  solution.fresh_gap = SpectralGap(fresh, sizes);
  solution.reasons.push_back(absl::StrFormat(
      "moves %s where at least %s must move; the gap is %.4f, that of a mask made from nothing %.4f",
      FormatBytes(solution.moved_bytes), FormatBytes(solution.moved_bytes_lower_bound), solution.gap,
      solution.fresh_gap));
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Mask> ChooseMask(const MaskProblem& problem, std::vector<std::string>* reasons) {
  std::vector<std::string> unread;
  return ChooseByRank(problem, reasons != nullptr ? *reasons : unread);
}

absl::StatusOr<MaskSolution> SolveMask(const MaskProblem& problem) {
  MaskSolution solution;
  SDP_ASSIGN_OR_RETURN(solution.mask, ChooseByRank(problem, solution.reasons));
  Summarize(problem, solution);
  const bool adapted = problem.previous.columns() > 0 && problem.generator == MaskGenerator::kBalanced;
  if (adapted) SDP_RETURN_IF_ERROR(CompareWithFresh(problem, solution));
  return solution;
}

}  // namespace sdp
