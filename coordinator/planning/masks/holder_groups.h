// Components that share their holders, so that there are few holder sets: each is a communicator.
#pragma once

#include <vector>

#include "coordinator/planning/masks/mask_problem.h"

namespace sdp {

// The most different holder sets that the mask may have; 0: any number.
int HolderSetLimit(const MaskProblem& problem);

// In which of at most `limit` groups, counted from 0, each column shares its holders: those that did in the
// previous mask when it has no more. Otherwise blocks share with their neighbours, in groups of about the
// same weight; slices of layers with slices of all other layers, in groups that each have a part of every
// layer: whoever holds some of the groups then holds its share of every layer.
std::vector<int> GroupColumns(const MaskProblem& problem, int limit);

// The problem with each group of columns as one component.
MaskProblem GroupedProblem(const MaskProblem& problem, const std::vector<int>& group);

}  // namespace sdp
