// How the cost of planning grows with workers and components: one core, CPU time.
#include <cstdint>
#include <vector>

#include "benchmark/benchmark.h"
#include "common/base/random.h"
#include "coordinator/planning/masks/mask_problem.h"
#include "coordinator/planning/spectrum/mask_graph.h"

namespace sdp {
namespace {

MaskProblem Problem(const benchmark::State& state) {
  MaskProblem problem;
  problem.workers.resize(state.range(0));
  problem.components.resize(state.range(1));
  problem.holders = static_cast<int>(state.range(2));
  return problem;
}

// A mask from nothing, judged: gap, bound, masking error.
void BM_Plan(benchmark::State& state) {
  const MaskProblem problem = Problem(state);
  double gap = 0;
  for (auto _ : state) gap = SolveMask(problem)->gap;
  state.counters["gap"] = gap;
}

// Components of unequal sizes on workers of two kinds.
void BM_PlanUnequal(benchmark::State& state) {
  MaskProblem problem = Problem(state);
  Random random(1);
  for (MaskComponent& component : problem.components) component.size = 1 + random.Unit();
  for (size_t i = 0; i < problem.workers.size(); i += 2) {
    problem.workers[i].profile.memory_budget_bytes =
        static_cast<int64_t>(16 * 1.5 * problem.holders * problem.components.size() /
                             problem.workers.size()) +
        64;
  }
  double gap = 0;
  for (auto _ : state) gap = SolveMask(problem)->gap;
  state.counters["gap"] = gap;
}

// One worker leaves: the mask near the one before.
void BM_OneLeaves(benchmark::State& state) {
  MaskProblem problem = Problem(state);
  problem.previous = *ChooseMask(problem);
  problem.workers.pop_back();
  for (size_t i = 0; i < problem.workers.size(); ++i) problem.workers[i].previous = static_cast<Rank>(i);
  double gap = 0;
  for (auto _ : state) {
    const Mask mask = *ChooseMask(problem);
    gap = SpectralGap(mask, std::vector<double>(mask.columns(), 1.0));
  }
  state.counters["gap"] = gap;
}

// The gap of a random mask by one method or the other.
void BM_Gap(benchmark::State& state, EigenMethod method) {
  MaskProblem problem = Problem(state);
  problem.generator = MaskGenerator::kRandom;
  const Mask mask = *ChooseMask(problem);
  const std::vector<double> sizes(mask.columns(), 1.0);
  double gap = 0;
  for (auto _ : state) gap = SpectralGap(mask, sizes, 0, method);
  state.counters["gap"] = gap;
}

void Shapes(benchmark::internal::Benchmark* bench) {
  bench->ArgNames({"N", "B", "k"})->Unit(benchmark::kMillisecond);
  for (int scale : {1, 2, 4, 8, 16, 32, 64, 128}) bench->Args({8 * scale, 4 * scale, 4});
  bench->Args({1024, 512, 8})->Args({1024, 512, 64});
}

void SmallShapes(benchmark::internal::Benchmark* bench) {
  bench->ArgNames({"N", "B", "k"})->Unit(benchmark::kMillisecond);
  for (int scale : {1, 2, 4, 8, 16, 32}) bench->Args({8 * scale, 16 * scale, 4});
}

void LargeShapes(benchmark::internal::Benchmark* bench) {
  bench->ArgNames({"N", "B", "k"})->Unit(benchmark::kMillisecond);
  for (int scale : {1, 4, 16, 32, 64}) bench->Args({16 * scale, 8 * scale, 8});
  bench->Args({10'000, 4'096, 16});
}

void DenseShapes(benchmark::internal::Benchmark* bench) {
  bench->ArgNames({"N", "B", "k"})->Unit(benchmark::kMillisecond);
  for (int scale : {1, 4, 16, 32, 64}) bench->Args({16 * scale, 8 * scale, 8});
}

BENCHMARK(BM_Plan)->Apply(Shapes);
BENCHMARK(BM_PlanUnequal)->Apply(SmallShapes);
BENCHMARK(BM_OneLeaves)->Apply(SmallShapes);
BENCHMARK_CAPTURE(BM_Gap, lanczos, EigenMethod::kLanczos)->Apply(LargeShapes);
BENCHMARK_CAPTURE(BM_Gap, dense, EigenMethod::kDense)->Apply(DenseShapes);

}  // namespace
}  // namespace sdp

BENCHMARK_MAIN();
