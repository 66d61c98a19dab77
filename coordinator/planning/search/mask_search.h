// Search for a large spectral gap among balanced masks.
#pragma once

#include <cstdint>

#include "common/base/random.h"
#include "coordinator/planning/search/mask_state.h"

namespace sdp {

// Simulated annealing of tr T^2, the sum of the squared eigenvalues: cheap to follow move by move, and
// small when no eigenvalue but the first is large. `moves` are tried.
void AnnealOverlaps(MaskState& state, int64_t moves, Random& random);

// Lowers lambda_2 itself, step by step: of some random moves, the one that promises most to first order is
// tried against the exact eigenvalues. Leaves the best mask that was seen. `steps` eigenvalue problems are
// solved.
void PolishGap(MaskState& state, int64_t steps, Random& random);

// Roughly the multiply-adds that each of the two needs per move or step, and for its set-up.
int64_t AnnealMoveWork(int workers, int64_t holdings, int columns);
int64_t AnnealSetUpWork(int workers, int columns);
int64_t PolishStepWork(int workers, int columns);

}  // namespace sdp
