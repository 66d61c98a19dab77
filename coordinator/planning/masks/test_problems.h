// Problems that the planning tests share.
#pragma once

#include <vector>

#include "coordinator/planning/masks/mask_problem.h"

namespace sdp {

// Equal components and workers, `holders` holders for each component.
inline MaskProblem EqualProblem(int workers, int columns, int holders) {
  MaskProblem problem;
  problem.components.resize(columns);
  problem.workers.resize(workers);
  problem.holders = holders;
  return problem;
}

// The problem after members change: `gone` of the previous ranks leave, then `joined` newcomers come.
inline MaskProblem Changed(const MaskProblem& problem, const Mask& mask, const std::vector<Rank>& gone,
                           int joined) {
  MaskProblem changed = problem;
  changed.previous = mask;
  changed.workers.clear();
  for (Rank rank = 0; rank < mask.workers(); ++rank) {
    bool leaves = false;
    for (Rank other : gone) leaves = leaves || other == rank;
    if (leaves) continue;
    changed.workers.push_back(problem.workers[rank]);
    changed.workers.back().previous = rank;
  }
  for (int i = 0; i < joined; ++i) changed.workers.emplace_back();
  return changed;
}

// Parameters of ResNet-18's eight residual blocks.
inline std::vector<double> ResNet18Blocks() {
  return {73984, 73984, 230144, 295424, 919040, 1180672, 3673088, 4720640};
}

// A LLaMA of 16 blocks of 60M parameters with an output matrix of 260M as one more maskable component.
inline std::vector<double> LlamaWithHeavyHead() {
  std::vector<double> sizes(16, 60e6);
  sizes.push_back(260e6);
  return sizes;
}

}  // namespace sdp
