// A mask problem as loads and room for them.
#pragma once

#include <string>
#include <vector>

#include "coordinator/planning/masks/mask_problem.h"
#include "coordinator/planning/search/load_balance.h"

namespace sdp {

struct MaskLoads {
  std::vector<double> sizes;    // parameters by column
  std::vector<double> weights;  // load by column: memory, or time when budgets do not count but speeds do
  std::vector<double> room;     // load that each worker can carry, at most that of everything
  // Loads are shared in proportion to these: rooms, a worker without a budget counting as the largest that
  // has one, or speeds.
  std::vector<double> capacities;
  bool limited = false;  // some worker's memory budget does not suffice for everything
  bool uneven = false;   // weights, room or capacities differ: balance by load instead of by number
};

MaskLoads LoadsOf(const MaskProblem& problem);

// Bytes that holding each component takes, by column.
std::vector<double> MemoryByColumn(const MaskProblem& problem);

// Wanted number of holders of each column: the whole k, or the numbers next to active_ratio x workers that
// come closest to active_ratio of the size, spread over columns of all sizes. At least one.
std::vector<int> HolderCounts(const MaskProblem& problem);

// The same as a load problem: the wanted loads are shares of the whole in proportion to the capacities.
LoadProblem LoadProblemOf(const MaskLoads& loads, const std::vector<int>& holders);

// Bytes that a worker needs whatever maskable components it holds.
double NeededBesideComponents(const MaskProblem& problem, size_t rank);

// For messages: component "block 3" or component 3; worker NAME or worker 1.
std::string ComponentName(const MaskProblem& problem, int column);
std::string WorkerNameOf(const MaskProblem& problem, Rank rank);

}  // namespace sdp
