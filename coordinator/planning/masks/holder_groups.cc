#include "coordinator/planning/masks/holder_groups.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <tuple>

#include "coordinator/planning/masks/mask_loads.h"
#include "coordinator/planning/spectrum/averaging_factor.h"
#include "coordinator/planning/spectrum/mask_graph.h"

namespace sdp {
namespace {

bool HasSlices(const MaskProblem& problem) {
  return std::any_of(problem.components.begin(), problem.components.end(),
                     [](const MaskComponent& component) { return component.layer >= 0; });
}

// Groups of neighbours of about the same weight.
std::vector<int> GroupNeighbours(const std::vector<double>& memory, int groups) {
  const int columns = static_cast<int>(memory.size());
  std::vector<int> group(columns);
  double left = std::accumulate(memory.begin(), memory.end(), 0.0);
  // Each group takes its share of what is left, and leaves a column for each other group.
  int next = 0;
  for (int b = 0; b < columns; ++next, --groups) {
    const double wanted = left / groups;
    double sum = 0;
    do {
      sum += memory[b];
      group[b++] = next;
    } while (b < columns && columns - b > groups - 1 && (groups == 1 || sum + memory[b] / 2 <= wanted));
    left -= sum;
  }
  return group;
}

// Groups of about the same weight, each with a part of each layer, so that whoever holds some of the groups
// holds its share of every layer. The heaviest slices of a layer first, each to the group that has least of
// the layer, and of those to the one that has least in all.
std::vector<int> GroupAcrossLayers(const MaskProblem& problem, const std::vector<double>& memory,
                                   int groups) {
  std::map<int, std::vector<int>> columns_of_layer;
  for (size_t b = 0; b < memory.size(); ++b) {
    columns_of_layer[problem.components[b].layer].push_back(static_cast<int>(b));
  }
  std::vector<int> group(memory.size());
  std::vector<double> total(groups, 0.0);
  for (auto& [layer, columns] : columns_of_layer) {
    std::stable_sort(columns.begin(), columns.end(), [&](int a, int b) { return memory[a] > memory[b]; });
    std::vector<double> of_layer(groups, 0.0);
    for (int b : columns) {
      int least = 0;
      for (int g = 1; g < groups; ++g) {
        if (std::tie(of_layer[g], total[g]) < std::tie(of_layer[least], total[least])) least = g;
      }
      group[b] = least;
      of_layer[least] += memory[b];
      total[least] += memory[b];
    }
  }
  return group;
}

}  // namespace

int HolderSetLimit(const MaskProblem& problem) {
  if (problem.max_holder_sets > 0 || !HasSlices(problem)) return problem.max_holder_sets;
  return static_cast<int>(problem.workers.size());
}

std::vector<int> GroupColumns(const MaskProblem& problem, int limit) {
  const int columns = static_cast<int>(problem.components.size());
  if (problem.previous.columns() == columns && DistinctHolderSets(problem.previous) <= limit) {
    std::vector<int> group(columns);
    std::map<std::vector<Rank>, int> groups;
    const std::vector<std::vector<Rank>> holders = HolderLists(problem.previous);
    for (int b = 0; b < columns; ++b) {
      group[b] = groups.emplace(holders[b], static_cast<int>(groups.size())).first->second;
    }
    return group;
  }
  const std::vector<double> memory = MemoryByColumn(problem);
  return HasSlices(problem) ? GroupAcrossLayers(problem, memory, limit) : GroupNeighbours(memory, limit);
}

MaskProblem GroupedProblem(const MaskProblem& problem, const std::vector<int>& group) {
  MaskProblem grouped = problem;
  grouped.max_holder_sets = 0;  // and without layers, as groups are no slices
  const int groups = *std::max_element(group.begin(), group.end()) + 1;
  grouped.components.assign(groups, MaskComponent{"", 0, 0, 0, -1});
  const std::vector<double> memory = MemoryByColumn(problem);
  if (problem.previous.columns() > 0) grouped.previous = Mask(problem.previous.workers(), groups);
  for (size_t b = 0; b < group.size(); ++b) {
    MaskComponent& component = grouped.components[group[b]];
    component.size += problem.components[b].size;
    component.memory_bytes += static_cast<int64_t>(memory[b]);
    component.time += problem.components[b].time;
    component.name += (component.name.empty() ? "" : "+") + problem.components[b].name;
    for (Rank i = 0; i < grouped.previous.workers(); ++i) {
      if (problem.previous.holds(i, static_cast<int>(b))) grouped.previous.set(i, group[b], true);
    }
  }
  return grouped;
}

}  // namespace sdp
