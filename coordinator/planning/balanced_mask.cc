#include "coordinator/planning/balanced_mask.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>
#include <string>
#include <utility>

#include "common/base/check.h"
#include "common/base/random.h"
#include "coordinator/planning/disjoint_sets.h"
#include "coordinator/planning/mask_graph.h"
#include "coordinator/planning/mask_search.h"
#include "coordinator/planning/mask_state.h"

namespace sdp {
namespace {

// Multiply-adds of one search, roughly: half a second at most.
constexpr int64_t kWork = 500'000'000;
constexpr int64_t kRestarts = 32;
// Per restart: at most so many, and fewer for small masks.
constexpr int64_t kAnnealMoves = 20'000;
constexpr int64_t kAnnealMovesPerEntry = 200;
constexpr int64_t kPolishSteps = 300;
constexpr int64_t kPolishStepsPerEntry = 10;
// Gaps are compared in units of this: what differs less is rounding.
constexpr double kGapUnit = 1e-9;

std::vector<int> ShuffledRange(int size, Random& random) {
  std::vector<int> range(size);
  std::iota(range.begin(), range.end(), 0);
  random.Shuffle(range);
  return range;
}

// A random mask with balanced rows and columns: each column takes the ranks that still need most (Ryser's
// construction, which never gets stuck).
Mask BalancedStart(int workers, int columns, int64_t holdings, Random& random) {
  std::vector<int64_t> need(workers);
  std::vector<int> ranks = ShuffledRange(workers, random);
  for (int i = 0; i < workers; ++i) need[ranks[i]] = holdings / workers + (i < holdings % workers ? 1 : 0);
  const std::vector<int> order = ShuffledRange(columns, random);
  Mask mask(workers, columns);
  for (int c = 0; c < columns; ++c) {
    const int64_t holders = holdings / columns + (c < holdings % columns ? 1 : 0);
    random.Shuffle(ranks);
    std::stable_sort(ranks.begin(), ranks.end(), [&](Rank a, Rank b) { return need[a] > need[b]; });
    for (int64_t i = 0; i < holders; ++i) {
      mask.set(ranks[i], order[c], true);
      --need[ranks[i]];
    }
  }
  return mask;
}

// Connects the worker-component graph without changing any row or column sum. With at least workers + columns
// - 1 holdings, a disconnected graph has a part with a cycle. One holding of the cycle and one of another
// part swap their ends: the cycle's part stays whole, and both ends of the other holding hang on it.
void Connect(Mask& mask) {
  const int workers = mask.workers();
  for (;;) {
    DisjointSets sets(workers + mask.columns());
    Rank cycle_rank = -1;
    int cycle_column = -1;
    for (int column = 0; column < mask.columns(); ++column) {
      for (Rank rank : mask.Holders(column)) {
        if (sets.Merge(rank, workers + column) || cycle_rank >= 0) continue;
        cycle_rank = rank;
        cycle_column = column;
      }
    }
    if (sets.sets() == 1) return;
    SDP_CHECK(cycle_rank >= 0, "too few holdings to connect the mask");
    int column = 0;
    while (sets.Find(workers + column) == sets.Find(cycle_rank)) ++column;
    const Rank rank = mask.Holders(column).front();
    mask.set(cycle_rank, cycle_column, false);
    mask.set(rank, column, false);
    mask.set(cycle_rank, column, true);
    mask.set(rank, cycle_column, true);
  }
}

struct Candidate {
  Mask mask;
  int64_t gap = 0;    // in kGapUnit
  int64_t bound = 0;  // of the gap, likewise
  int distinct_rows = 0;
};

bool Better(const Candidate& a, const Candidate& b) {
  return std::make_pair(a.gap, a.distinct_rows) > std::make_pair(b.gap, b.distinct_rows);
}

Candidate Judge(Mask mask, const std::vector<double>& sizes) {
  Connect(mask);
  Candidate candidate;
  candidate.gap = std::llround(SpectralGap(mask, sizes) / kGapUnit);
  candidate.bound = std::llround(SpectralGapBound(mask, sizes) / kGapUnit);
  const std::vector<std::string> rows = mask.Rows();
  candidate.distinct_rows = static_cast<int>(std::set<std::string>(rows.begin(), rows.end()).size());
  candidate.mask = std::move(mask);
  return candidate;
}

// How much of everything kWork allows.
struct Effort {
  int64_t anneal_moves = 0;  // per restart
  int64_t restarts = 0;
  int64_t polish_steps = 0;        // per polished restart
  int64_t total_polish_steps = 0;  // over all
};

Effort PlanEffort(int workers, int columns, int64_t holdings) {
  const int64_t entries = int64_t{workers} * columns;
  const int64_t move_work = AnnealMoveWork(workers, holdings, columns);
  const int64_t step_work = PolishStepWork(workers, columns);
  Effort effort;
  effort.anneal_moves = std::clamp(kWork / 2 / kRestarts / move_work, int64_t{1},
                                   std::min(kAnnealMoves, kAnnealMovesPerEntry * entries));
  const int64_t restart_work = AnnealSetUpWork(workers, holdings, columns) + effort.anneal_moves * move_work +
                               step_work;  // the last is for judging the result
  effort.restarts = std::clamp(kWork / 2 / restart_work, int64_t{1}, kRestarts);
  effort.polish_steps = std::min(kPolishSteps, kPolishStepsPerEntry * entries);
  effort.total_polish_steps = std::max(int64_t{0}, (kWork - effort.restarts * restart_work) / step_work);
  return effort;
}

}  // namespace

int64_t HoldingsOf(double active_ratio, int workers, int components) {
  return std::llround(active_ratio * workers * components);
}

int64_t MinimumHoldings(int workers, int components) { return int64_t{workers} + components - 1; }

double MinimumActiveRatio(int workers, int components) {
  const double exact =
      static_cast<double>(MinimumHoldings(workers, components)) / (static_cast<double>(workers) * components);
  return std::min(1.0, std::ceil(exact * 1e4 - 1e-6) / 1e4);
}

Mask BalancedMask(int workers, const std::vector<double>& sizes, int64_t holdings, uint64_t seed) {
  const int columns = static_cast<int>(sizes.size());
  SDP_CHECK(holdings >= MinimumHoldings(workers, columns) && holdings <= int64_t{workers} * columns,
            "no balanced mask has this many holdings");
  if (holdings == int64_t{workers} * columns) return Mask::Full(workers, columns);
  // The gap does not depend on the scale of the sizes; the search's rounding limits do.
  const double total = std::accumulate(sizes.begin(), sizes.end(), 0.0);
  std::vector<double> scaled = sizes;
  for (double& size : scaled) size *= columns / total;

  // At most half of the work goes into annealing from several starts, the rest into polishing, best first.
  const Effort effort = PlanEffort(workers, columns, holdings);
  Random random(MixBits(seed));
  std::vector<Candidate> candidates;
  for (int64_t i = 0; i < effort.restarts; ++i) {
    Mask start = BalancedStart(workers, columns, holdings, random);
    Connect(start);
    MaskState state(std::move(start), scaled);
    AnnealOverlaps(state, effort.anneal_moves, random);
    candidates.push_back(Judge(state.mask(), scaled));
  }
  std::stable_sort(candidates.begin(), candidates.end(), Better);

  Candidate best = candidates[0];
  int64_t steps_left = effort.total_polish_steps;
  for (const Candidate& candidate : candidates) {
    const int64_t steps = std::min(steps_left, effort.polish_steps);
    if (steps == 0 || best.gap >= best.bound) break;
    steps_left -= steps;
    MaskState state(candidate.mask, scaled);
    PolishGap(state, steps, random);
    Candidate polished = Judge(state.mask(), scaled);
    if (Better(polished, best)) best = std::move(polished);
  }
  return best.mask;
}

}  // namespace sdp
