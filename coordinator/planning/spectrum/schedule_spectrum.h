// How well a schedule of masks spreads what workers learn: the spectrum of its averaging operators.
//
// The operator of one mask is the walk M = D^(-1) W of docs/method.md: worker i's average over the components
// that it holds, then over their holders. It has the eigenvalues of T, so that a schedule of one mask has
// that mask's spectral gap twice.
#pragma once

#include <vector>

#include "common/model/mask.h"

namespace sdp {

struct ScheduleSpectrum {
  // 1 - |lambda_2| of the mean of the operators: a schedule whose entries are visited often and in any order.
  double mean_gap = 0;
  // 1 - |lambda_2|^(1/n) of the product of the n operators in order: what one pass does, per entry.
  double product_gap = 0;
};

// `masks` are the entries in order, at least one, all of one size; every worker holds something in each.
// `sizes` are the component sizes by column.
ScheduleSpectrum SpectrumOfSchedule(const std::vector<Mask>& masks, const std::vector<double>& sizes);

}  // namespace sdp
