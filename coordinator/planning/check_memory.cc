#include "coordinator/planning/check_memory.h"

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "coordinator/planning/memory_model.h"

namespace sdp {
namespace {

std::string Mebibytes(int64_t bytes) {
  return absl::StrFormat("%.1f MiB", static_cast<double>(bytes) / (1 << 20));
}

// Blocks that a worker with these inputs could hold within `limit` bytes; -1: not even none.
int BlocksThatFit(const LlamaSpec& model, const ParameterTable& table, MemoryInputs inputs, int64_t limit) {
  const int64_t block = table.components[table.ComponentOfColumn(0)].elements;
  // Unless everyone holds everything, as perhaps in this plan, an evaluation receives blocks.
  if (inputs.evaluation_rows > 0) inputs.received_elements = 2 * block;
  while (PredictMemory(model, inputs).total() > limit) {
    if (--inputs.blocks < 0) return -1;
    inputs.elements -= block;
  }
  return inputs.blocks;
}

std::string Advice(const JobSpec& spec, const ParameterTable& table, const Plan& plan, Rank rank) {
  const MemoryInputs inputs = MakeMemoryInputs(spec, table, plan)[rank];
  const int blocks = BlocksThatFit(spec.model, table, inputs, plan.members[rank].memory_bytes);
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
    const int64_t needed = plan.summary.workers[rank].memory.total();
    if (member.memory_bytes <= 0 || needed <= member.memory_bytes) continue;
    return absl::FailedPreconditionError(absl::StrCat(
        "worker \"", member.worker.value(), "\" would need ", Mebibytes(needed), " for tensors and has ",
        Mebibytes(member.memory_bytes), ", ", Mebibytes(needed - member.memory_bytes), " too little; ",
        Advice(spec, table, plan, rank)));
  }
  return absl::OkStatus();
}

}  // namespace sdp
