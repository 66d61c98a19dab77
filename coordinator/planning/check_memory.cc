#include "coordinator/planning/check_memory.h"

#include <cstdint>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/base/quantities.h"
#include "coordinator/planning/memory_model.h"

namespace sdp {
namespace {

std::string Advice(const JobSpec& spec, const ParameterTable& table, const Plan& plan, Rank rank) {
  const MemoryInputs inputs = MakeMemoryInputs(spec, table, plan)[rank];
  const int64_t block = table.components[table.ComponentOfColumn(0)].elements;
  const int blocks = BlocksThatFit(spec.model, block, inputs, plan.members[rank].profile.memory_budget_bytes);
  // A component's holders are a whole number of workers, and loads differ by at most one block.
  for (int holders = plan.world_size() - 1; holders > 0; --holders) {
    const int64_t entries = static_cast<int64_t>(holders) * spec.model.layers;
    if ((entries + plan.world_size() - 1) / plan.world_size() > blocks) continue;
    return absl::StrFormat("it would fit with masking.active_ratio at most %.4g",
                           static_cast<double>(holders) / plan.world_size());
  }
  return "it would fit with no masking.active_ratio; use smaller micro-batches (batch.micro_sequences), more "
         "workers or a smaller model";
}

}  // namespace

absl::Status CheckMemory(const JobSpec& spec, const ParameterTable& table, const Plan& plan) {
  for (Rank rank = 0; rank < plan.world_size(); ++rank) {
    const PlanMember& member = plan.members[rank];
    const int64_t budget = member.profile.memory_budget_bytes;
    const int64_t needed = plan.summary.workers[rank].memory.total();
    if (budget == 0 || needed <= budget) continue;
    return absl::FailedPreconditionError(absl::StrCat("worker \"", member.worker.value(), "\" would need ",
                                                      FormatBytes(needed), " for tensors and has ",
                                                      FormatBytes(budget), ", ", FormatBytes(needed - budget),
                                                      " too little; ", Advice(spec, table, plan, rank)));
  }
  return absl::OkStatus();
}

}  // namespace sdp
