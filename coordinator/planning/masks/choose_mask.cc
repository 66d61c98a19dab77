#include "coordinator/planning/masks/choose_mask.h"

#include "coordinator/planning/masks/mask_problem.h"

namespace sdp {

MaskProblem ProblemOf(const MaskingSpec& spec, int workers, const std::vector<double>& sizes) {
  MaskProblem problem;
  for (double size : sizes) {
    problem.components.emplace_back();
    problem.components.back().size = size;
  }
  problem.workers.resize(workers);
  problem.active_ratio = spec.active_ratio;
  problem.max_holder_sets = spec.max_holder_sets;
  problem.generator = spec.generator;
  problem.matrix = spec.matrix;
  problem.allow_disconnected = spec.allow_disconnected;
  problem.seed = spec.seed;
  return problem;
}

absl::StatusOr<Mask> ChooseMask(const MaskingSpec& spec, int workers, const std::vector<double>& sizes) {
  return ChooseMask(ProblemOf(spec, workers, sizes));
}

}  // namespace sdp
