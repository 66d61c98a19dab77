#include "worker/training/full_model.h"

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "ATen/core/Tensor.h"
#include "ATen/core/grad_mode.h"
#include "ATen/ops/empty.h"
#include "common/base/status_macros.h"
#include "worker/models/model.h"
#include "worker/models/parameter_store.h"
#include "worker/models/torch_status.h"
#include "worker/training/token_tensors.h"

namespace sdp {
namespace {

// Brings components that this rank does not hold, one ahead of the one in use.
class ComponentStream {
 public:
  ComponentStream(const ParameterTable& table, const Plan& plan, Rank rank, const Subnetwork& subnetwork,
                  Communicator& world)
      : table_(table), plan_(plan), rank_(rank), subnetwork_(subnetwork), world_(world) {
    runs_.resize(table.components.size());
    for (const Bucket& bucket : plan.buckets) {
      int last = -1;  // component
      for (const int slice : bucket.slices) {
        const int component = table.slices[slice].component;
        if (component != last) runs_[component].emplace_back();
        runs_[component].back().push_back(slice);
        last = component;
      }
    }
    for (const Component& component : table.components) {
      if (IsStreamed(component)) largest_ = std::max(largest_, component.elements);
    }
  }

  ~ComponentStream() {
    // The buffers must outlive their collectives. After an error these have failed as well, and say no more.
    for (Slot& slot : slots_) {
      for (auto& work : slot.works) work->Wait().IgnoreError();
    }
  }

  // Begins the broadcast of a component; at most two are under way.
  void Start(int component) {
    Slot& slot = SlotOf(component);
    slot.slices = subnetwork_.store().leaves();
    slot.works.clear();
    const Component& streamed = table_.components[component];
    if (!IsStreamed(streamed)) return;
    const bool held = plan_.Holds(rank_, streamed);
    if (!slot.buffer.defined()) slot.buffer = at::empty({largest_}, at::kFloat);
    const int root = plan_.Provider(table_, component);
    int64_t begin = 0;  // in the buffer; each run travels as one
    for (const Run& run : runs_[component]) {
      int64_t end = begin;
      for (const int slice : run) {
        if (!held) slot.slices[slice] = View(slot.buffer, end, slice);
        end += table_.slices[slice].elements;
      }
      const absl::Span<float> data =
          rank_ == root ? absl::MakeSpan(subnetwork_.slice(run[0]).parameters.data(), end - begin)
                        : Values(slot.buffer).subspan(begin, end - begin);
      slot.works.push_back(world_.Broadcast(data, root));
      begin = end;
    }
  }

  // Waits for a started component. The tensors by slice that it runs with, until the next but one is started.
  absl::StatusOr<const std::vector<at::Tensor>*> Finish(int component) {
    Slot& slot = SlotOf(component);
    for (auto& work : slot.works) SDP_RETURN_IF_ERROR(work->Wait());
    slot.works.clear();
    return &slot.slices;
  }

 private:
  using Run = std::vector<int>;  // slices of a component that lie side by side in a bucket of the plan

  struct Slot {
    at::Tensor buffer;
    std::vector<at::Tensor> slices;
    std::vector<std::unique_ptr<Work>> works;
  };

  bool IsStreamed(const Component& component) const {
    return !component.shared() &&
           static_cast<int>(plan_.mask.Holders(component.mask_column).size()) < plan_.world_size();
  }
  Slot& SlotOf(int component) { return slots_[component % 2]; }
  at::Tensor View(const at::Tensor& buffer, int64_t begin, int slice) const {
    const Slice& range = table_.slices[slice];
    return buffer.narrow(0, begin, range.elements).view(table_.parameters[range.parameter].shape);
  }

  const ParameterTable& table_;
  const Plan& plan_;
  const Rank rank_;
  const Subnetwork& subnetwork_;
  Communicator& world_;
  std::vector<std::vector<Run>> runs_;  // by component
  int64_t largest_ = 0;                 // elements of the largest streamed component
  Slot slots_[2];
};

// Sum of the rows' cross entropies. Every rank runs the same components in the same order, also with no rows.
absl::StatusOr<double> RunChunk(const ParameterTable& table, const Subnetwork& subnetwork,
                                const TokenRows& rows, int batch_rows, ComponentStream& stream) {
  std::vector<Batch> batches;
  for (int begin = 0; begin < rows.rows; begin += batch_rows) {
    batches.push_back(BatchOf(rows.Part(begin, std::min(batch_rows, rows.rows - begin))));
  }
  std::vector<at::Tensor> hidden(batches.size());
  const int components = static_cast<int>(table.components.size());
  stream.Start(0);
  for (int component = 0; component < components; ++component) {
    if (component + 1 < components) stream.Start(component + 1);
    SDP_ASSIGN_OR_RETURN(const std::vector<at::Tensor>* slices, stream.Finish(component));
    for (size_t i = 0; i < batches.size(); ++i) {
      hidden[i] = subnetwork.model().Run(component, *slices, batches[i], hidden[i]);
    }
  }
  double sum = 0;
  for (const at::Tensor& loss : hidden) sum += loss.item<double>();
  return sum;
}

}  // namespace

absl::StatusOr<double> FullModelLoss(const ParameterTable& table, const Plan& plan, Rank rank,
                                     const Subnetwork& subnetwork, SampleReader& validation,
                                     absl::Span<const int64_t> indices, const EvaluationRows& at_once,
                                     Communicator& world) {
  return CatchTorchErrors("evaluation of the full model", [&]() -> absl::StatusOr<double> {
    const at::NoGradGuard no_grad;
    const int64_t total = static_cast<int64_t>(indices.size());
    const Chunk share = ChunkOf(total, world.size(), rank);
    const int64_t largest_share = (total + world.size() - 1) / world.size();
    ComponentStream stream(table, plan, rank, subnetwork, world);
    double sums[2] = {0, 0};  // cross entropy, tokens
    for (int64_t done = 0; done < largest_share; done += at_once.chunk) {
      const int64_t begin = std::min(share.begin + done, share.end);
      const int64_t end = std::min(begin + at_once.chunk, share.end);
      SDP_RETURN_IF_ERROR(validation.Read(indices.subspan(begin, end - begin)));
      const TokenRows rows = validation.rows();
      SDP_ASSIGN_OR_RETURN(const double sum, RunChunk(table, subnetwork, rows, at_once.batch, stream));
      sums[0] += sum;
      sums[1] += static_cast<double>(rows.inputs.size());
    }
    SDP_RETURN_IF_ERROR(world.AllReduceSmall(absl::MakeSpan(sums))->Wait());
    return sums[0] / sums[1];
  });
}

}  // namespace sdp
