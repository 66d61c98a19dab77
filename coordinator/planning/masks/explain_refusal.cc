#include "coordinator/planning/masks/explain_refusal.h"

#include <algorithm>
#include <numeric>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "common/base/quantities.h"
#include "coordinator/planning/masks/balanced_mask.h"
#include "coordinator/planning/spectrum/mask_graph.h"

namespace sdp {
namespace {

// "3 components", "1 worker".
std::string Count(int64_t count, const char* noun) {
  return absl::StrCat(count, " ", noun, count == 1 ? "" : "s");
}

// The wish, as the user stated it.
std::string Wish(const MaskProblem& problem) {
  if (problem.holders > 0) return Count(problem.holders, "holder") + " for each component";
  return absl::StrFormat("masking.active_ratio %g", problem.active_ratio);
}

// The most holders of each component, at most `most`, for which an assignment is found; 0: none. Few numbers
// are all tried, more by bisection.
int MostHoldersThatFit(const MaskProblem& problem, const MaskLoads& loads, int most) {
  constexpr int kTryAll = 16;
  const int workers = static_cast<int>(problem.workers.size());
  const int columns = static_cast<int>(problem.components.size());
  const int too_few = static_cast<int>((MinimumHoldings(workers, columns) - 1) / columns);
  int fitting = too_few;
  for (int too_many = most + 1; too_many - fitting > 1;) {
    const int holders = most <= kTryAll ? too_many - 1 : fitting + (too_many - fitting) / 2;
    SearchOutcome outcome;
    const LoadProblem smaller = LoadProblemOf(loads, std::vector<int>(columns, holders));
    (BalanceLoads(smaller, problem.seed, &outcome) ? fitting : too_many) = holders;
  }
  return fitting > too_few ? fitting : 0;
}

std::string JoinWays(const std::vector<std::string>& ways) {
  return ways.empty() ? "" : absl::StrCat("; what would fit: ", absl::StrJoin(ways, ", or "));
}

// "; what would fit: ..." for loads that are memory.
std::string WhatWouldFit(const MaskProblem& problem, const MaskLoads& loads,
                         const std::vector<int>& holders) {
  const int workers = static_cast<int>(problem.workers.size());
  const int most = MostHoldersThatFit(problem, loads, *std::min_element(holders.begin(), holders.end()) - 1);
  std::vector<std::string> ways;
  if (most > 0) {
    ways.push_back(absl::StrFormat("%s for each component (masking.active_ratio %.4g)", Count(most, "holder"),
                                   static_cast<double>(most) / workers));
  }
  // With more than components and budgets to it, the caller knows better which budget suffices.
  for (const MaskWorker& worker : problem.workers) {
    if (worker.other_memory_bytes > 0) return JoinWays(ways);
  }
  MaskLoads unlimited = loads;
  const double all = std::accumulate(loads.weights.begin(), loads.weights.end(), 0.0);
  unlimited.room.assign(workers, all);
  unlimited.capacities.assign(workers, 1.0);
  SearchOutcome outcome;
  if (const auto mask = BalanceLoads(LoadProblemOf(unlimited, holders), problem.seed, &outcome)) {
    const std::vector<double> held = Loads(*mask, loads.weights);
    ways.push_back(absl::StrFormat("a budget of %s on every worker",
                                   FormatBytesUp(static_cast<double>(problem.shared_memory_bytes) +
                                                 *std::max_element(held.begin(), held.end()))));
  }
  return JoinWays(ways);
}

absl::Status CheckWorkersHaveRoom(const MaskProblem& problem, const MaskLoads& loads) {
  const int smallest =
      static_cast<int>(std::min_element(loads.weights.begin(), loads.weights.end()) - loads.weights.begin());
  for (size_t i = 0; i < problem.workers.size(); ++i) {
    const double budget = static_cast<double>(problem.workers[i].profile.memory_budget_bytes);
    const double always = NeededBesideComponents(problem, i);
    const double needed = always + loads.weights[smallest];
    if (budget == 0 || needed <= budget) continue;
    return absl::FailedPreconditionError(
        absl::StrFormat("%s has a memory budget of %s, but what it needs in any case (shared components, "
                        "activations) takes %s and the smallest maskable component (%s) %s: it is short by "
                        "%s; give it at least "
                        "%s, or leave it out",
                        WorkerNameOf(problem, static_cast<Rank>(i)), FormatBytes(budget), FormatBytes(always),
                        ComponentName(problem, smallest), FormatBytes(loads.weights[smallest]),
                        FormatBytes(needed - budget), FormatBytesUp(needed)));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckHoldings(const MaskProblem& problem, int64_t holdings) {
  const int workers = static_cast<int>(problem.workers.size());
  const int columns = static_cast<int>(problem.components.size());
  const int64_t minimum =
      problem.allow_disconnected ? std::max(workers, columns) : MinimumHoldings(workers, columns);
  if (holdings >= minimum) return absl::OkStatus();
  std::string reason = "that is less than one holder for each component";
  if (holdings >= columns && problem.allow_disconnected) {
    reason = "that is less than one component for each worker";
  } else if (holdings >= columns) {
    reason = absl::StrFormat(
        "with fewer than %d the workers cannot all be connected through components that they share", minimum);
  }
  std::string way = absl::StrFormat("the smallest active_ratio that works here is %g",
                                    RatioOfHoldings(minimum, workers, columns));
  if (problem.holders > 0) {
    const int64_t usable = holdings - columns + 1;
    way = usable >= 1 ? absl::StrFormat("at most %s can use it", Count(usable, "worker")) : way;
  }
  const std::string wish =
      problem.holders > 0 ? absl::StrCat(Count(problem.holders, "holder"), " for each component are wanted")
                          : absl::StrFormat("masking.active_ratio is %g", problem.active_ratio);
  return absl::FailedPreconditionError(
      absl::StrFormat("%s: with %s and %s it gives %s, and %s; %s", wish, Count(workers, "worker"),
                      Count(columns, "maskable component"), Count(holdings, "holding"), reason, way));
}

absl::Status CheckRoom(const MaskProblem& problem, const MaskLoads& loads, const std::vector<int>& holders) {
  if (!loads.limited) return absl::OkStatus();
  if (absl::Status status = CheckWorkersHaveRoom(problem, loads); !status.ok()) return status;
  for (size_t b = 0; b < holders.size(); ++b) {
    std::vector<double> room = loads.room;
    std::sort(room.rbegin(), room.rend());
    if (room[holders[b] - 1] >= loads.weights[b]) continue;
    const auto fitting =
        std::count_if(room.begin(), room.end(), [&](double r) { return r >= loads.weights[b]; });
    return absl::FailedPreconditionError(absl::StrFormat(
        "%s takes %s and needs %s, but only %s room for it beside the shared components; the next one is "
        "short by %s%s",
        ComponentName(problem, static_cast<int>(b)), FormatBytes(loads.weights[b]),
        Count(holders[b], "holder"), fitting == 1 ? "1 worker has" : absl::StrCat(fitting, " workers have"),
        FormatBytes(loads.weights[b] - room[fitting]), WhatWouldFit(problem, loads, holders)));
  }
  double needed = 0;
  for (size_t b = 0; b < holders.size(); ++b) needed += loads.weights[b] * holders[b];
  const double room = std::accumulate(loads.room.begin(), loads.room.end(), 0.0);
  if (needed <= room) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrFormat(
      "%s needs %s for all holders together, but the memory budgets leave room for %s beside the shared "
      "components: %s too little%s",
      Wish(problem), FormatBytes(needed), FormatBytes(room), FormatBytes(needed - room),
      WhatWouldFit(problem, loads, holders)));
}

absl::Status NoAssignment(const MaskProblem& problem, const MaskLoads& loads, const std::vector<int>& holders,
                          SearchOutcome outcome) {
  const Rank tightest =
      static_cast<Rank>(std::min_element(loads.room.begin(), loads.room.end()) - loads.room.begin());
  const int heaviest =
      static_cast<int>(std::max_element(loads.weights.begin(), loads.weights.end()) - loads.weights.begin());
  return absl::FailedPreconditionError(absl::StrFormat(
      "%s: %s, although they fit in sum: the components are too coarse for the budgets (the tightest is that "
      "of %s with room for %s, the largest component %s with %s)%s",
      Wish(problem),
      outcome == SearchOutcome::kImpossible ? "no assignment keeps every worker within its memory budget"
                                            : "no assignment within the memory budgets was found",
      WorkerNameOf(problem, tightest), FormatBytes(loads.room[tightest]), ComponentName(problem, heaviest),
      FormatBytes(loads.weights[heaviest]), WhatWouldFit(problem, loads, holders)));
}

absl::Status CheckBudgets(const MaskProblem& problem, const Mask& mask) {
  const std::vector<double> memory = MemoryByColumn(problem);
  const std::vector<double> loads = Loads(mask, memory);
  for (Rank rank = 0; rank < mask.workers(); ++rank) {
    const double budget = static_cast<double>(problem.workers[rank].profile.memory_budget_bytes);
    const double needed = loads[rank] + NeededBesideComponents(problem, rank);
    if (budget == 0 || needed <= budget) continue;
    int largest = -1;
    for (int b = 0; b < mask.columns(); ++b) {
      if (mask.holds(rank, b) && (largest < 0 || memory[b] > memory[largest])) largest = b;
    }
    return absl::FailedPreconditionError(absl::StrFormat(
        "%s would hold %s with a memory budget of %s: %s too much, with %s (%s) its largest; a smaller "
        "active_ratio or the balanced generator, which keeps to budgets, may fit",
        WorkerNameOf(problem, rank), FormatBytes(needed), FormatBytes(budget), FormatBytes(needed - budget),
        ComponentName(problem, largest), FormatBytes(memory[largest])));
  }
  return absl::OkStatus();
}

std::string DescribeParts(const Mask& mask) {
  const std::vector<std::vector<Rank>> parts = ConnectedParts(mask);
  if (parts.size() == 1) return "";
  const auto append_part = [](std::string* out, const std::vector<Rank>& part) {
    absl::StrAppend(out, "{", absl::StrJoin(part, ", "), "}");
  };
  return absl::StrJoin(parts, ", ", append_part);
}

absl::Status CheckConnected(const Mask& mask, const char* what) {
  const std::string parts = DescribeParts(mask);
  if (parts.empty()) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrFormat(
      "%s is disconnected: the rows %s share no component with each other, so what they learn never meets; "
      "give two of them a component in common, or set masking.allow_disconnected",
      what, parts));
}

}  // namespace sdp
