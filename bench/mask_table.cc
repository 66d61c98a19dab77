// Balanced masks against random ones: the spectral gap of one balanced mask beside the mean and the best of
// 1,000 random masks with as many holders, and beside the upper bound. Equal components and workers.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "coordinator/planning/masks/mask_problem.h"
#include "coordinator/planning/spectrum/mask_graph.h"

namespace sdp {
namespace {

struct Shape {
  int workers;
  int columns;
  int holders;
};

constexpr Shape kShapes[] = {{4, 8, 2},  {8, 8, 3},   {8, 12, 3},  {8, 12, 4},  {8, 16, 6},
                             {8, 32, 4}, {16, 24, 4}, {16, 32, 4}, {32, 24, 8}, {64, 32, 8}};

// Largest number of components of a worker, divided by the mean. Balanced masks have 1 where that is whole.
double Imbalance(const Mask& mask, int holders) {
  int most = 0;
  for (Rank i = 0; i < mask.workers(); ++i) most = std::max(most, mask.Held(i));
  return static_cast<double>(most) * mask.workers() / (static_cast<double>(holders) * mask.columns());
}

void PrintRow(const Shape& shape, int draws) {
  MaskProblem problem;
  problem.workers.resize(shape.workers);
  problem.components.resize(shape.columns);
  problem.holders = shape.holders;
  const MaskSolution balanced = *SolveMask(problem);

  problem.generator = MaskGenerator::kRandom;
  const std::vector<double> sizes(shape.columns, 1.0);
  double sum = 0, best = 0, imbalance = 0;
  for (int draw = 0; draw < draws; ++draw) {
    problem.seed = static_cast<uint64_t>(draw);
    const Mask mask = *ChooseMask(problem);
    const double gap = SpectralGap(mask, sizes);
    sum += gap;
    if (gap <= best) continue;
    best = gap;
    imbalance = Imbalance(mask, shape.holders);
  }
  std::printf("%7d %10d %7d %8.3f | %8.4f %6.4f %11.3f | %11.4f %11.4f %13.2f\n", shape.workers,
              shape.columns, shape.holders, static_cast<double>(shape.holders) / shape.workers, balanced.gap,
              balanced.gap_bound, balanced.gap / balanced.gap_bound, sum / draws, best, imbalance);
}

}  // namespace
}  // namespace sdp

int main(int argc, char** argv) {
  const int draws = argc > 1 ? std::max(1, std::atoi(argv[1])) : 1000;
  std::printf("Spectral gap of one balanced mask and of %d random ones\n", draws);
  std::printf("%7s %10s %7s %8s | %8s %6s %11s | %11s %11s %13s\n", "workers", "components", "holders", "C",
              "balanced", "bound", "share of it", "random mean", "random best", "its imbalance");
  for (const sdp::Shape& shape : sdp::kShapes) sdp::PrintRow(shape, draws);
  return 0;
}
