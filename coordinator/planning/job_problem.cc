#include "coordinator/planning/job_problem.h"

#include <algorithm>
#include <numeric>

#include "coordinator/planning/masks/choose_mask.h"
#include "coordinator/planning/memory_model.h"
#include "coordinator/planning/plan_costs.h"

namespace sdp {
namespace {

int EqualShare(const JobSpec& spec, const Plan& plan) {
  return (spec.batch.global_sequences + plan.world_size() - 1) / plan.world_size();
}

// What members need when each runs an equal share, rounded up: whoever is which rank makes no difference.
std::vector<MemoryInputs> EqualShareInputs(const JobSpec& spec, const ParameterTable& table, Plan plan) {
  for (PlanMember& member : plan.members) member.sequences = EqualShare(spec, plan);
  return MakeMemoryInputs(spec, table, plan);
}

// Sets the budgets, and beside them what takes the rest of them once as many blocks are held as fit. (All
// blocks of a model have one size.)
void SetBudgets(const JobSpec& spec, const ParameterTable& table, const Plan& plan, MaskProblem& problem) {
  const std::vector<MemoryInputs> by_rank = EqualShareInputs(spec, table, plan);
  const int64_t block = table.components[table.ComponentOfColumn(0)].elements;
  for (Rank rank = 0; rank < plan.world_size(); ++rank) {
    const int64_t budget = plan.members[rank].profile.memory_budget_bytes;
    if (budget == 0) continue;
    MemoryInputs inputs = by_rank[rank];
    const int64_t shared = inputs.elements - inputs.blocks * block;
    const auto with_blocks = [&](int blocks) {
      inputs.blocks = blocks;
      inputs.elements = shared + blocks * block;
      return inputs;
    };
    const int fitting = BlocksThatFit(spec.model, block, with_blocks(table.mask_columns), budget);
    const int64_t reference =
        fitting > 0 ? budget
                    : PredictMemory(spec.model, with_blocks(1)).total();  // one block too few: for it
    problem.workers[rank].profile.memory_budget_bytes = budget;
    problem.workers[rank].other_memory_bytes =
        reference - problem.shared_memory_bytes - std::max(fitting, 1) * block * kHeldBytesPerParameter;
  }
}

}  // namespace

int64_t SmallerBudget(int64_t a, int64_t b) {
  if (a == 0 || b == 0) return std::max(a, b);
  return std::min(a, b);
}

void ApplyProfiles(const WorkersSpec& spec, std::vector<PlanMember>& members) {
  for (PlanMember& member : members) {
    WorkerProfile& profile = member.profile;
    profile.memory_budget_bytes = SmallerBudget(profile.memory_budget_bytes, spec.memory_budget_bytes);
    for (const NamedWorkerProfile& named : spec.profiles) {
      if (named.worker != member.worker.value()) continue;
      profile.memory_budget_bytes = SmallerBudget(profile.memory_budget_bytes, named.memory_budget_bytes);
      if (named.relative_speed > 0) profile.relative_speed = named.relative_speed;
    }
  }
}

std::vector<int> MostSequences(const JobSpec& spec, const ParameterTable& table, const Plan& plan) {
  std::vector<int> most(plan.members.size(), spec.batch.global_sequences);
  const std::vector<MemoryInputs> by_rank = EqualShareInputs(spec, table, plan);
  for (Rank rank = 0; rank < plan.world_size(); ++rank) {
    const int64_t budget = plan.members[rank].profile.memory_budget_bytes;
    const bool share_bears_on_memory = spec.batch.micro_sequences == 0;
    if (budget == 0 || !share_bears_on_memory) continue;
    int fitting = EqualShare(spec, plan), too_many = spec.batch.global_sequences + 1;
    while (too_many - fitting > 1) {
      MemoryInputs inputs = by_rank[rank];
      inputs.rows = fitting + (too_many - fitting) / 2;
      const bool fits = PredictMemory(spec.model, inputs).total() <= budget;
      (fits ? fitting : too_many) = inputs.rows;
    }
    most[rank] = fitting;
  }
  return most;
}

MaskProblem JobMaskProblem(const JobSpec& spec, const ParameterTable& table, const Plan& plan) {
  const std::vector<double> sizes = MaskableSizes(table);
  MaskProblem problem = ProblemOf(spec.masking, plan.world_size(), sizes);
  const double maskable = std::accumulate(sizes.begin(), sizes.end(), 0.0);
  problem.shared_size = static_cast<double>(table.elements) - maskable;
  problem.shared_memory_bytes = static_cast<int64_t>(problem.shared_size) * kHeldBytesPerParameter;
  for (const Component& component : table.components) {
    if (component.shared()) continue;
    problem.components[component.mask_column].name = component.name;
    problem.components[component.mask_column].time = component.flops_per_token;
  }
  for (Rank rank = 0; rank < plan.world_size(); ++rank) {
    problem.workers[rank].name = plan.members[rank].worker.value();
    problem.workers[rank].profile.relative_speed = plan.members[rank].profile.relative_speed;
  }
  // With so few sequences for each, whole ones cannot even out the step times.
  constexpr int kFewSequences = 4;
  problem.equal_samples = spec.batch.global_sequences < kFewSequences * plan.world_size();
  if (spec.masking.generator == MaskGenerator::kBalanced) SetBudgets(spec, table, plan, problem);
  return problem;
}

MaskProblem JobMaskProblem(const JobSpec& spec, const ParameterTable& table, const Plan& plan,
                           const Plan& previous) {
  MaskProblem problem = JobMaskProblem(spec, table, plan);
  problem.previous = previous.mask;
  for (Rank rank = 0; rank < plan.world_size(); ++rank) {
    for (Rank before = 0; before < previous.world_size(); ++before) {
      const bool same = plan.members[rank].worker == previous.members[before].worker &&
                        plan.members[rank].incarnation == previous.members[before].incarnation;
      if (same) problem.workers[rank].previous = before;
    }
  }
  return problem;
}

}  // namespace sdp
