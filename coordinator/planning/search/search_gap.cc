#include "coordinator/planning/search/search_gap.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>
#include <string>
#include <utility>

#include "coordinator/planning/search/connect_mask.h"
#include "coordinator/planning/search/mask_search.h"
#include "coordinator/planning/spectrum/mask_graph.h"

namespace sdp {
namespace {

constexpr int64_t kRestarts = 32;
// Per restart: at most so many, and fewer for small masks.
constexpr int64_t kAnnealMoves = 20'000;
constexpr int64_t kAnnealMovesPerEntry = 200;
// Per polished restart: the work is spent on so many of them, or on more with so many steps each. Below the
// last number of steps in all, polishing is not worth beginning.
constexpr int64_t kLongPolishes = 4;
constexpr int64_t kPolishSteps = 300;
constexpr int64_t kFewPolishSteps = 60;
constexpr int64_t kPolishStepsPerEntry = 10;
// Gaps are compared in units of this: what differs less is rounding.
constexpr double kGapUnit = 1e-9;

struct Candidate {
  Mask mask;
  int64_t gap = 0;    // in kGapUnit
  int64_t bound = 0;  // of the gap, likewise
  int distinct_rows = 0;
};

bool Better(const Candidate& a, const Candidate& b) {
  return std::make_pair(a.gap, a.distinct_rows) > std::make_pair(b.gap, b.distinct_rows);
}

Candidate Judge(Mask mask, const std::vector<double>& sizes, bool connect) {
  if (connect) Connect(mask);
  Candidate candidate;
  candidate.gap = std::llround(SpectralGap(mask, sizes) / kGapUnit);
  candidate.bound = std::llround(SpectralGapBound(mask, sizes) / kGapUnit);
  const std::vector<std::string> rows = mask.Rows();
  candidate.distinct_rows = static_cast<int>(std::set<std::string>(rows.begin(), rows.end()).size());
  candidate.mask = std::move(mask);
  return candidate;
}

// How much of everything the work allows.
struct Effort {
  int64_t restarts = 0;
  int64_t anneal_moves = 0;        // per restart
  int64_t last_anneal_moves = 0;   // of one more restart; 0: none
  int64_t polish_steps = 0;        // per polished restart
  int64_t total_polish_steps = 0;  // over all
};

// A mask so large that eigenvalues cost too much to be followed: one long annealing beside a short one.
Effort AnnealOnly(int64_t anneal_moves, int64_t move_work, int64_t work) {
  Effort effort;
  effort.restarts = 1;
  effort.anneal_moves = anneal_moves;
  effort.last_anneal_moves = std::max(anneal_moves, work / 2 / move_work);
  return effort;
}

// A quarter of the work goes into annealing from several starts, the rest into polishing: a few long runs
// from the best starts find more than many short ones.
Effort PlanEffort(int workers, int columns, int64_t holdings, int64_t work) {
  const int64_t entries = int64_t{workers} * columns;
  const int64_t move_work = AnnealMoveWork(workers, holdings, columns);
  const int64_t step_work = PolishStepWork(workers, columns);
  Effort effort;
  effort.anneal_moves = std::clamp(work / 4 / kRestarts / move_work, int64_t{1},
                                   std::min(kAnnealMoves, kAnnealMovesPerEntry * entries));
  effort.total_polish_steps = work / 4 * 3 / step_work;
  if (effort.total_polish_steps < kFewPolishSteps) return AnnealOnly(effort.anneal_moves, move_work, work);
  const int64_t restart_work = AnnealSetUpWork(workers, columns) + effort.anneal_moves * move_work +
                               step_work;  // the last is for judging the result
  effort.restarts = std::clamp(work / 4 / restart_work, int64_t{1}, kRestarts);
  effort.polish_steps = std::min(kPolishStepsPerEntry * entries,
                                 std::max(kPolishSteps, effort.total_polish_steps / kLongPolishes));
  return effort;
}

}  // namespace

Mask SearchGap(const std::vector<double>& sizes, SearchLimits limits, const MaskStart& start, uint64_t seed,
               int64_t work) {
  // The gap does not depend on the scale of the sizes; the search's rounding limits do.
  const int columns = static_cast<int>(sizes.size());
  const double scale = columns / std::accumulate(sizes.begin(), sizes.end(), 0.0);
  std::vector<double> scaled = sizes;
  for (double& size : scaled) size *= scale;
  limits.moved_limit *= scale;
  const bool connect = limits.weights.empty() && limits.previous.workers() == 0;

  Random random(MixBits(seed));
  Mask next = start(random);
  int64_t holdings = 0;
  for (Rank rank = 0; rank < next.workers(); ++rank) holdings += next.Held(rank);
  const Effort effort = PlanEffort(next.workers(), columns, holdings, work);
  std::vector<Candidate> candidates;
  const int64_t starts = effort.restarts + (effort.last_anneal_moves > 0 ? 1 : 0);
  for (int64_t i = 0; i < starts; ++i) {
    if (i > 0) next = start(random);
    MaskState state(std::move(next), scaled, limits);
    AnnealOverlaps(state, i < effort.restarts ? effort.anneal_moves : effort.last_anneal_moves, random);
    candidates.push_back(Judge(state.mask(), scaled, connect));
  }
  std::stable_sort(candidates.begin(), candidates.end(), Better);

  Candidate best = candidates[0];
  int64_t steps_left = effort.total_polish_steps;
  for (const Candidate& candidate : candidates) {
    const int64_t steps = std::min(steps_left, effort.polish_steps);
    if (steps == 0 || best.gap >= best.bound) break;
    steps_left -= steps;
    MaskState state(candidate.mask, scaled, limits);
    PolishGap(state, steps, random);
    Candidate polished = Judge(state.mask(), scaled, connect);
    if (Better(polished, best)) best = std::move(polished);
  }
  return best.mask;
}

}  // namespace sdp
