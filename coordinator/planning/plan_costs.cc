#include "coordinator/planning/plan_costs.h"

#include <algorithm>

#include "coordinator/planning/memory_model.h"
#include "coordinator/planning/spectrum/mask_graph.h"

namespace sdp {
namespace {

constexpr int64_t kElementBytes = 4;  // float32

// The largest of the workers' values divided by their mean.
template <typename Value>
double LargestOverMean(const std::vector<WorkerCost>& workers, const Value& value) {
  double largest = 0, sum = 0;
  for (const WorkerCost& worker : workers) {
    const auto of_worker = static_cast<double>(value(worker));
    largest = std::max(largest, of_worker);
    sum += of_worker;
  }
  return largest * static_cast<double>(workers.size()) / sum;
}

}  // namespace

int64_t RingBytes(int64_t elements, int members) {
  // 2 (k-1)/k x bytes, rounded up, without a product that overflows.
  const int64_t twice = 2 * elements * kElementBytes;
  return twice - twice / members;
}

std::vector<WorkerCost> WorkerCosts(const JobSpec& spec, const ParameterTable& table, const Plan& plan) {
  std::vector<WorkerCost> costs(plan.members.size());
  for (const Bucket& bucket : plan.buckets) {
    const std::vector<Rank>& holders = plan.holder_sets[bucket.holder_set];
    const int64_t bytes = RingBytes(bucket.elements, static_cast<int>(holders.size()));
    for (Rank rank : holders) {
      costs[rank].parameters += bucket.elements;
      costs[rank].bytes_per_step += bytes;
    }
  }
  for (const std::vector<Rank>& holders : plan.holder_sets) {
    for (Rank rank : holders) costs[rank].communicators += holders.size() > 1 ? 1 : 0;
  }
  const std::vector<MemoryInputs> memory = MakeMemoryInputs(spec, table, plan);
  const int round_steps =
      spec.averaging.mode == AveragingMode::kParameters ? std::max(spec.averaging.every_steps, 1) : 1;
  for (Rank rank = 0; rank < plan.world_size(); ++rank) {
    costs[rank].bytes_per_step /= round_steps;
    costs[rank].memory = PredictMemory(spec.model, memory[rank]);
    costs[rank].memory_budget_bytes = plan.members[rank].profile.memory_budget_bytes;
    costs[rank].relative_speed = plan.members[rank].profile.relative_speed;
    const double tokens = static_cast<double>(plan.members[rank].sequences) * spec.model.seq_len;
    for (const Component& component : table.components) {
      if (plan.Holds(rank, component)) costs[rank].flops_per_step += tokens * component.flops_per_token;
    }
  }
  return costs;
}

double Imbalance(const std::vector<WorkerCost>& workers) {
  return LargestOverMean(workers, [](const WorkerCost& worker) { return worker.parameters; });
}

std::vector<double> MaskableSizes(const ParameterTable& table) {
  std::vector<double> sizes(table.mask_columns, 0.0);
  for (const Component& component : table.components) {
    if (!component.shared()) sizes[component.mask_column] = static_cast<double>(component.elements);
  }
  return sizes;
}

PlanSummary SummarizePlan(const JobSpec& spec, const ParameterTable& table, const Plan& plan) {
  const std::vector<double> sizes = MaskableSizes(table);
  double shared_size = static_cast<double>(table.elements);
  for (double size : sizes) shared_size -= size;
  double holdings = 0;
  for (Rank rank = 0; rank < plan.world_size(); ++rank) holdings += plan.mask.Held(rank);

  PlanSummary summary;
  summary.active_ratio = holdings / (static_cast<double>(plan.world_size()) * plan.mask.columns());
  summary.spectral_gap = SpectralGap(plan.mask, sizes);
  summary.spectral_gap_bound = SpectralGapBound(plan.mask, sizes);
  summary.spectral_gap_with_shared = SpectralGap(plan.mask, sizes, shared_size);
  summary.masking_error = MaskingError(plan.mask, sizes, shared_size);
  summary.coverage_minimum = MinimumCoverage(plan.mask);
  summary.parameters = table.elements;
  summary.workers = WorkerCosts(spec, table, plan);
  summary.imbalance = Imbalance(summary.workers);
  summary.memory_imbalance =
      LargestOverMean(summary.workers, [](const WorkerCost& worker) { return worker.memory.total(); });
  summary.compute_imbalance = LargestOverMean(summary.workers, [](const WorkerCost& worker) {
    return worker.flops_per_step / worker.relative_speed;
  });
  summary.component_holder_sets = DistinctHolderSets(plan.mask);
  summary.data_parallel_bytes_per_step = RingBytes(table.elements, plan.world_size());
  return summary;
}

}  // namespace sdp
