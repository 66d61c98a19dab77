#include "coordinator/planning/masks/mask_loads.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "common/base/quantities.h"
#include "coordinator/planning/masks/balanced_mask.h"

namespace sdp {
namespace {

// Bytes of components that a worker's budget leaves room for.
double RoomOf(const MaskProblem& problem, size_t rank) {
  const int64_t budget = problem.workers[rank].profile.memory_budget_bytes;
  if (budget == 0) return std::numeric_limits<double>::infinity();
  return static_cast<double>(budget) - NeededBesideComponents(problem, rank);
}

bool AllEqual(const std::vector<double>& values) {
  return std::all_of(values.begin(), values.end(), [&](double value) { return value == values[0]; });
}

std::vector<double> Speeds(const MaskProblem& problem) {
  std::vector<double> speeds;
  for (const MaskWorker& worker : problem.workers) speeds.push_back(worker.profile.relative_speed);
  return speeds;
}

// The rooms, where a worker without a budget counts as the largest with one.
std::vector<double> KnownRoom(const MaskProblem& problem, const std::vector<double>& room) {
  double largest = 0;
  for (size_t i = 0; i < room.size(); ++i) {
    if (problem.workers[i].profile.memory_budget_bytes > 0) largest = std::max(largest, room[i]);
  }
  if (largest == 0) return std::vector<double>(room.size(), 1.0);
  std::vector<double> known;
  for (size_t i = 0; i < room.size(); ++i) {
    const double value = problem.workers[i].profile.memory_budget_bytes > 0 ? room[i] : largest;
    known.push_back(std::max(value, 1.0));  // workers with room for nothing are refused elsewhere
  }
  return known;
}

std::vector<double> TimeByColumn(const MaskProblem& problem) {
  std::vector<double> times;
  for (const MaskComponent& component : problem.components) {
    times.push_back(component.time > 0 ? component.time : component.size);
  }
  return times;
}

}  // namespace

std::vector<double> MemoryByColumn(const MaskProblem& problem) {
  std::vector<double> bytes;
  for (const MaskComponent& component : problem.components) {
    bytes.push_back(component.memory_bytes > 0 ? static_cast<double>(component.memory_bytes)
                                               : component.size * kHeldBytesPerParameter);
  }
  return bytes;
}

double NeededBesideComponents(const MaskProblem& problem, size_t rank) {
  return static_cast<double>(problem.shared_memory_bytes + problem.workers[rank].other_memory_bytes);
}

MaskLoads LoadsOf(const MaskProblem& problem) {
  MaskLoads loads;
  for (const MaskComponent& component : problem.components) loads.sizes.push_back(component.size);
  const std::vector<double> memory = MemoryByColumn(problem);
  const double held_by_all = std::accumulate(memory.begin(), memory.end(), 0.0);
  for (size_t i = 0; i < problem.workers.size(); ++i) {
    loads.limited = loads.limited || RoomOf(problem, i) < held_by_all;
  }
  loads.weights = problem.equal_samples && !loads.limited ? TimeByColumn(problem) : memory;
  const double all = std::accumulate(loads.weights.begin(), loads.weights.end(), 0.0);
  for (size_t i = 0; i < problem.workers.size(); ++i) {
    loads.room.push_back(loads.limited ? std::clamp(RoomOf(problem, i), 0.0, all) : all);
  }
  loads.capacities = problem.equal_samples ? Speeds(problem) : KnownRoom(problem, loads.room);
  loads.uneven = !AllEqual(loads.weights) || !AllEqual(loads.capacities) || !AllEqual(loads.room);
  return loads;
}

std::vector<int> HolderCounts(const MaskProblem& problem) {
  const int workers = static_cast<int>(problem.workers.size());
  const int columns = static_cast<int>(problem.components.size());
  const int whole =
      problem.holders > 0 ? problem.holders : WholeHolders(problem.active_ratio, workers, columns);
  if (whole > 0) return std::vector<int>(columns, whole);
  // Largest first, each rounded so that what has been held too much or too little so far evens out.
  std::vector<int> order(columns);
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](int a, int b) { return problem.components[a].size > problem.components[b].size; });
  std::vector<int> counts(columns);
  double owed = 0;
  for (int column : order) {
    const double size = problem.components[column].size;
    owed += problem.active_ratio * workers * size;
    const double least = std::max(1.0, std::floor(problem.active_ratio * workers));
    const double count = owed - least * size >= size / 2 ? least + 1 : least;
    counts[column] = static_cast<int>(std::min<double>(count, workers));
    owed -= counts[column] * size;
  }
  return counts;
}

LoadProblem LoadProblemOf(const MaskLoads& loads, const std::vector<int>& holders) {
  LoadProblem problem;
  problem.weights = loads.weights;
  problem.holders = holders;
  problem.limits = loads.room;
  double total = 0;
  for (size_t b = 0; b < holders.size(); ++b) total += loads.weights[b] * holders[b];
  problem.targets = ShareLoad(total, loads.room, loads.capacities);
  return problem;
}

std::string ComponentName(const MaskProblem& problem, int column) {
  const std::string& name = problem.components[column].name;
  return name.empty() ? absl::StrCat("component ", column) : absl::StrCat("component \"", name, "\"");
}

std::string WorkerNameOf(const MaskProblem& problem, Rank rank) {
  const std::string& name = problem.workers[rank].name;
  return name.empty() ? absl::StrCat("worker ", rank) : absl::StrCat("worker ", name);
}

}  // namespace sdp
