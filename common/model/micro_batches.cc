#include "common/model/micro_batches.h"

#include <algorithm>
#include <limits>

namespace sdp {

int MicroBatch(const JobSpec& spec, int share) {
  return spec.batch.micro_sequences > 0 ? std::min(spec.batch.micro_sequences, share) : share;
}

EvaluationRows ChooseEvaluationRows(const JobSpec& spec, const ParameterTable& table, const Plan& plan) {
  const double hidden_bytes = static_cast<double>(sizeof(float)) * spec.model.hidden;  // of one token
  double largest_flops = 0;  // of one component's forward pass, which is a third of a step
  for (const Component& component : table.components) {
    largest_flops = std::max(largest_flops, component.flops_per_token / 3);
  }
  int batch = spec.batch.global_sequences;
  double rows = std::numeric_limits<double>::infinity();
  for (Rank rank = 0; rank < plan.world_size(); ++rank) {
    const int share = plan.members[rank].sequences;
    if (share == 0) continue;
    const int micro = MicroBatch(spec, share);
    double activation_bytes = 0;
    double flops = 0;
    for (const Component& component : table.components) {
      if (!plan.Holds(rank, component)) continue;
      activation_bytes += component.activation_bytes_per_token;
      flops += component.flops_per_token;
    }
    batch = std::min(batch, micro);
    rows = std::min({rows, micro * activation_bytes / 2 / hidden_bytes, share * flops / largest_flops});
  }
  constexpr double kMostRows = 1 << 30;  // int's, for the widest models
  return {batch, std::max(batch, static_cast<int>(std::min(rows, kMostRows)) / batch * batch)};
}

}  // namespace sdp
