// How good a mask is: connectedness, spectral gap and masking error. docs/method.md has the formulas; they
// are this project's own.
//
// `sizes` are the component sizes p_b by mask column, all positive. `shared_size` is the size of what every
// worker holds besides; 0 leaves the shared components out.
#pragma once

#include <vector>

#include "common/base/ids.h"
#include "common/model/mask.h"

namespace sdp {

// The parts of the worker-component graph: ranks that share components, directly or over others. Each part
// ascends, and parts are ordered by their first rank. One part: the mask is connected.
std::vector<std::vector<Rank>> ConnectedParts(const Mask& mask);

// Number of different holder sets of the columns: the communicators that averaging needs.
int DistinctHolderSets(const Mask& mask);

// How lambda_2 is found: all eigenvalues, or one by sparse Lanczos iteration; they agree to about 1e-10.
// Automatic: the second for masks with more than 128 workers and components.
enum class EigenMethod { kAutomatic, kDense, kLanczos };

// rho = 1 - lambda_2(T), with T = D^(-1/2) W D^(-1/2), W_ij = sum_b p_b m_ib m_jb / k_b and D = diag(row sums
// of W). 1 for full overlap, and exactly 0 when the graph is disconnected.
double SpectralGap(const Mask& mask, const std::vector<double>& sizes, double shared_size = 0,
                   EigenMethod method = EigenMethod::kAutomatic);

// Upper bound of the gap: 1 - (tr T - 1) / (r - 1) with r = min(workers, distinct holder sets), the number of
// non-zero eigenvalues that T can have. Exactly 0 when the graph is disconnected.
double SpectralGapBound(const Mask& mask, const std::vector<double>& sizes, double shared_size = 0);

// eps = N/(N-1) sum_b (p_b/P) (1/k_b - 1/N): 0 when everyone holds everything, 1 for disjoint masks. 0 for
// one worker. Every column must have a holder.
double MaskingError(const Mask& mask, const std::vector<double>& sizes, double shared_size = 0);

// Smallest number of holders of any column (number of workers when there are no columns).
int MinimumCoverage(const Mask& mask);

}  // namespace sdp
