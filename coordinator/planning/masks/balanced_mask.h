// The balanced generator: masks with equal coverage, equal loads and a large spectral gap.
#pragma once

#include <cstdint>
#include <vector>

#include "common/model/mask.h"

namespace sdp {

// Number of holdings (pairs of a worker and a component that it holds) that the active ratio C stands for:
// C x workers x components, rounded. C workers = k holders for each component when that is whole.
int64_t HoldingsOf(double active_ratio, int workers, int components);

// The number of holders of each component, when the active ratio stands for the same whole number for all; 0
// otherwise.
int WholeHolders(double active_ratio, int workers, int components);

// The fewest holdings of a usable mask: workers + components - 1. The worker-component graph then is a tree:
// every component has a holder, every worker a component, and all are connected.
int64_t MinimumHoldings(int workers, int components);

// The smallest active ratio, in steps of 0.0001, that reaches so many holdings; at most 1.
double RatioOfHoldings(int64_t holdings, int workers, int components);

// The same for MinimumHoldings.
double MinimumActiveRatio(int workers, int components);

// A connected mask with `holdings` holdings, at least MinimumHoldings and at most workers x components. The
// numbers of holders of any two components differ by at most one, as do the numbers of components of any two
// workers; so coverage is 2 or more whenever there are two holdings for each component. Among such masks, one
// with a large spectral gap, found by a search of bounded work: exactly the best for the smallest sizes, a
// good one otherwise. Of equally good ones, one with the most distinct rows.
//
// `sizes` are the component sizes by column, all positive; they weigh in the gap, loads are balanced by
// count. The same arguments give the same mask.
Mask BalancedMask(int workers, const std::vector<double>& sizes, int64_t holdings, uint64_t seed);

// The same without connection and without a search, for as few holdings as one for each worker and for each
// component.
Mask DisconnectedBalancedMask(int workers, int columns, int64_t holdings, uint64_t seed);

}  // namespace sdp
