#include "coordinator/planning/masks/mask_schedule.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "common/base/random.h"
#include "coordinator/planning/masks/adapt_mask.h"
#include "coordinator/planning/masks/mask_loads.h"
#include "coordinator/planning/spectrum/mask_graph.h"

namespace sdp {
namespace {

// Entries of masks over all draws of one re-drawing, roughly: bounds its work.
constexpr int64_t kDrawnEntries = 100'000;
constexpr int64_t kMaxDraws = 64;

class Redrawer {
 public:
  Redrawer(const MaskProblem& problem, const Mask& first)
      : loads_(LoadsOf(problem)),
        random_(MixBits(problem.seed ^ 0x73636865)),
        times_held_(first.workers(), std::vector<int>(first.columns(), 0)) {
    const LoadProblem targets = LoadProblemOf(loads_, HolderCounts(problem));
    const double worst = std::max(kWorstLoad, WorstLoad(first, targets));
    for (Rank i = 0; i < first.workers(); ++i) limits_.push_back(targets.MostLoad(i, worst));
  }

  // The mask that follows `mask`; `mask` itself when no exchange is possible.
  Mask Next(const Mask& mask) {
    for (Rank i = 0; i < mask.workers(); ++i) {
      for (int b = 0; b < mask.columns(); ++b) times_held_[i][b] += mask.holds(i, b) ? 1 : 0;
    }
    const int64_t entries = int64_t{mask.workers()} * mask.columns();
    const int64_t draws = std::clamp(kDrawnEntries / entries, int64_t{1}, kMaxDraws);
    Mask best = mask;
    double best_gap = 0, best_moved = 0;
    for (int64_t draw = 0; draw < draws; ++draw) {
      Mask next = Exchange(mask);
      const double gap = SpectralGap(next, loads_.sizes);
      const double moved = MovedSize(next, mask, loads_.sizes);
      if (gap <= best_gap + 1e-9 || moved == 0) continue;
      best = std::move(next);
      best_gap = gap;
      best_moved = moved;
    }
    return best_moved > 0 ? best : mask;
  }

  double LowerBound(const Mask& mask) const {
    double bound = 0;
    for (Rank i = 0; i < mask.workers(); ++i) {
      double smallest = 0;
      for (int b = 0; b < mask.columns(); ++b) {
        if (mask.holds(i, b)) continue;
        smallest = smallest == 0 ? loads_.sizes[b] : std::min(smallest, loads_.sizes[b]);
      }
      bound += smallest;
    }
    return bound;
  }

  const std::vector<double>& sizes() const { return loads_.sizes; }

 private:
  // One exchange in each of random pairs; who finds no partner tries the others left.
  Mask Exchange(const Mask& mask) {
    Mask next = mask;
    std::vector<double> loads = Loads(mask, loads_.weights);
    std::vector<Rank> waiting(mask.workers());
    std::iota(waiting.begin(), waiting.end(), 0);
    random_.Shuffle(waiting);
    while (waiting.size() > 1) {
      const Rank i = waiting.back();
      waiting.pop_back();
      for (size_t at = waiting.size(); at-- > 0;) {
        if (!ExchangeOne(mask, i, waiting[at], next, loads)) continue;
        waiting.erase(waiting.begin() + static_cast<int64_t>(at));
        break;
      }
    }
    return next;
  }

  bool ExchangeOne(const Mask& mask, Rank i, Rank j, Mask& next, std::vector<double>& loads) {
    int best_a = -1, best_b = -1, best_times = 0;
    uint64_t ties = 0;
    for (int a = 0; a < mask.columns(); ++a) {
      if (!mask.holds(i, a) || mask.holds(j, a)) continue;
      for (int b = 0; b < mask.columns(); ++b) {
        if (mask.holds(i, b) || !mask.holds(j, b) || !Fits(i, j, a, b, loads)) continue;
        const int times = times_held_[j][a] + times_held_[i][b];
        if (best_a >= 0 && times > best_times) continue;
        if (best_a < 0 || times < best_times) ties = 0;
        if (random_.Below(++ties) != 0) continue;  // each of equally good ones with the same chance
        best_a = a;
        best_b = b;
        best_times = times;
      }
    }
    if (best_a < 0) return false;
    next.set(i, best_a, false);
    next.set(j, best_b, false);
    next.set(i, best_b, true);
    next.set(j, best_a, true);
    const double shift = loads_.weights[best_b] - loads_.weights[best_a];
    loads[i] += shift;
    loads[j] -= shift;
    return true;
  }

  bool Fits(Rank i, Rank j, int a, int b, const std::vector<double>& loads) const {
    constexpr double kRounding = 1e-9;
    const double shift = loads_.weights[b] - loads_.weights[a];
    if (shift > 0) return loads[i] + shift <= limits_[i] * (1 + kRounding);
    return shift == 0 || loads[j] - shift <= limits_[j] * (1 + kRounding);
  }

  MaskLoads loads_;
  Random random_;
  std::vector<std::vector<int>> times_held_;  // by rank and column, over the entries so far
  std::vector<double> limits_;                // load by rank
};

}  // namespace

MaskSchedule PlanSchedule(const MaskProblem& problem, const Mask& first, const RedrawOptions& options) {
  MaskSchedule schedule;
  Redrawer redrawer(problem, first);
  schedule.entries.push_back({options.first_step, first, SpectralGap(first, redrawer.sizes()), 0, 0});
  std::vector<Mask> masks = {first};
  if (options.every_steps > 0) {
    for (int64_t step = options.first_step + options.every_steps;
         step < options.end_step && static_cast<int>(masks.size()) < options.max_entries;
         step += options.every_steps) {
      Mask next = redrawer.Next(masks.back());
      const double moved = MovedSize(next, masks.back(), redrawer.sizes());
      schedule.entries.push_back({step, next, SpectralGap(next, redrawer.sizes()),
                                  moved * kStateBytesPerParameter,
                                  redrawer.LowerBound(masks.back()) * kStateBytesPerParameter});
      masks.push_back(std::move(next));
    }
  }
  schedule.spectrum = SpectrumOfSchedule(masks, redrawer.sizes());
  return schedule;
}

}  // namespace sdp
