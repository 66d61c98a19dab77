// Masks that are drawn or laid out by a rule, without a search.
//
// `active_ratio` is k / workers when that gives a whole number k of holders (balanced_mask.h: WholeHolders);
// otherwise it is the share of the components' size that each worker holds. `sizes` are the component sizes
// by column. The same arguments give the same mask.
#pragma once

#include <cstdint>
#include <vector>

#include "common/model/mask.h"

namespace sdp {

// The paper's: k holders for each component, or components up to the held share for each worker, drawn
// uniformly. A draw in which a worker or a component has nothing, or with `connected` one that is
// disconnected, is repeated; after many such draws the last one is repaired with few changes. `*repaired`
// says whether it was. Needs the holdings for that (MinimumHoldings; without `connected`, one for each worker
// and for each component).
Mask RandomMask(int workers, const std::vector<double>& sizes, double active_ratio, bool connected,
                uint64_t seed, bool* repaired);

// One window of workers, or of components, shifted from component to component or from worker to worker by
// equal steps. May leave workers with nothing or in parts when windows are short: see ConnectedParts.
Mask CyclicMask(int workers, const std::vector<double>& sizes, double active_ratio);

}  // namespace sdp
