// Search for a mask with a large spectral gap, of bounded work.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "common/base/random.h"
#include "common/model/mask.h"
#include "coordinator/planning/search/mask_state.h"

namespace sdp {

// A mask within the limits to begin from. Asked for one per restart.
using MaskStart = std::function<Mask(Random&)>;

inline constexpr int64_t kSearchWork = 600'000'000;

// Anneals from several starts, then lowers lambda_2 itself step by step, best candidates first. The result is
// within the limits, and of equally good masks one with the most distinct rows. Without load limits and
// previous mask it is connected, and the starts must have the holdings for that (connect_mask.h); otherwise
// it may fail to be.
//
// `sizes` are the component sizes by column, of any scale, with limits.moved_limit in the same scale. The
// work is `work` multiply-adds, roughly, so the same arguments give the same mask on every machine.
Mask SearchGap(const std::vector<double>& sizes, SearchLimits limits, const MaskStart& start, uint64_t seed,
               int64_t work = kSearchWork);

}  // namespace sdp
