// What it costs when one worker joins or leaves: bytes moved beside the lower bound, and the spectral gap
// beside that of a mask made from nothing. Equal components and workers; the number of holders is kept (k) or
// follows the active ratio (C). The worst of several leavers and seeds.
#include <algorithm>
#include <cstdio>
#include <vector>

#include "coordinator/planning/masks/mask_problem.h"
#include "coordinator/planning/masks/test_problems.h"

namespace sdp {
namespace {

struct Shape {
  int workers;
  int columns;
  int holders;
};

constexpr Shape kShapes[] = {{8, 12, 3},    {8, 12, 4},     {8, 16, 6},    {8, 32, 4},
                             {64, 32, 8},   {64, 64, 8},    {64, 64, 32},  {64, 96, 16},
                             {512, 128, 8}, {512, 256, 16}, {512, 256, 64}};

struct Worst {
  double moved = 0;  // bytes / lower bound
  double gap = 1e9;  // gap / that of a fresh mask
};

void Add(const MaskProblem& changed, Worst& worst) {
  const MaskSolution solution = *SolveMask(changed);
  if (solution.moved_bytes > 0) {
    worst.moved = std::max(worst.moved, solution.moved_bytes / solution.moved_bytes_lower_bound);
  }
  worst.gap = std::min(worst.gap, solution.gap / solution.fresh_gap);
}

void PrintRow(const Shape& shape, bool by_ratio) {
  Worst joins, leaves;
  const int seeds = shape.workers < 100 ? 3 : 1;
  for (int seed = 0; seed < seeds; ++seed) {
    MaskProblem problem = EqualProblem(shape.workers, shape.columns, by_ratio ? 0 : shape.holders);
    problem.active_ratio = static_cast<double>(shape.holders) / shape.workers;
    problem.seed = static_cast<uint64_t>(seed);
    const Mask before = *ChooseMask(problem);
    Add(Changed(problem, before, {}, 1), joins);
    for (Rank leaver : {0, shape.workers / 2, shape.workers - 1}) {
      Add(Changed(problem, before, {leaver}, 0), leaves);
    }
  }
  std::printf("%7d %10d %7d %5s | %10.3f %10.4f | %10.3f %10.4f\n", shape.workers, shape.columns,
              shape.holders, by_ratio ? "C" : "k", joins.moved, joins.gap, leaves.moved, leaves.gap);
}

}  // namespace
}  // namespace sdp

int main() {
  std::printf(
      "One worker joins or leaves: bytes moved / lower bound, gap / gap of a fresh mask (worst seen)\n");
  std::printf("%7s %10s %7s %5s | %10s %10s | %10s %10s\n", "workers", "components", "holders", "keeps",
              "join moved", "join gap", "leave mvd", "leave gap");
  for (const sdp::Shape& shape : sdp::kShapes) {
    for (bool by_ratio : {false, true}) sdp::PrintRow(shape, by_ratio);
  }
  return 0;
}
