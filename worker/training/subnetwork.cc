#include "worker/training/subnetwork.h"

#include <algorithm>
#include <utility>

#include "ATen/core/Tensor.h"
#include "ATen/core/grad_mode.h"
#include "common/base/check.h"
#include "torch/csrc/autograd/autograd.h"
#include "worker/models/model.h"
#include "worker/models/parameter_store.h"
#include "worker/models/torch_status.h"
#include "worker/training/token_tensors.h"

namespace sdp {

// Counts the leaves of each bucket whose gradients are still to come in this backward pass.
class Subnetwork::Countdown {
 public:
  explicit Countdown(const Plan& plan, const ParameterStore& store) {
    for (const FlatBucket& bucket : store.buckets()) {
      leaves_.push_back(static_cast<int>(plan.buckets[bucket.index].slices.size()));
    }
  }

  // Null: nobody wants to know.
  void Arm(const std::function<void(int)>* ready) {
    ready_ = ready;
    remaining_ = leaves_;
  }

  void LeafDone(int bucket) {
    if (--remaining_[bucket] == 0 && ready_ != nullptr) (*ready_)(bucket);
  }

  // Whether all leaves of all buckets are done.
  bool Complete() const {
    for (const int remaining : remaining_) {
      if (remaining != 0) return false;
    }
    return true;
  }

  // Called by autograd after each addition to a leaf's gradient.
  class Hook : public torch::autograd::PostAccumulateGradHook {
   public:
    Hook(Countdown* countdown, int bucket) : countdown_(countdown), bucket_(bucket) {}
    void operator()(const at::Tensor& /*leaf*/) override { countdown_->LeafDone(bucket_); }

   private:
    Countdown* const countdown_;
    const int bucket_;
  };

 private:
  std::vector<int> leaves_;  // by held bucket
  std::vector<int> remaining_;
  const std::function<void(int)>* ready_ = nullptr;
};

struct Subnetwork::Graph {
  at::Tensor loss;
};

absl::StatusOr<std::unique_ptr<Subnetwork>> Subnetwork::Create(const JobSpec& spec,
                                                               const ParameterTable& table, const Plan& plan,
                                                               Rank rank) {
  const double megabytes = static_cast<double>(ParameterStore::PredictBytes(plan, rank)) / 1e6;
  return CatchTorchErrors(
      absl::StrCat("allocating ", megabytes, " MB for the parameters, gradients and moments of rank ", rank),
      [&]() -> absl::StatusOr<std::unique_ptr<Subnetwork>> {
        return std::unique_ptr<Subnetwork>(new Subnetwork(spec, table, plan, rank));
      });
}

Subnetwork::Subnetwork(const JobSpec& spec, const ParameterTable& table, const Plan& plan, Rank rank)
    : table_(table),
      model_(MakeModel(spec.model, table)),
      store_(std::make_unique<ParameterStore>(table, plan, rank, spec.seed)),
      countdown_(std::make_unique<Countdown>(plan, *store_)),
      graph_(std::make_unique<Graph>()) {
  for (size_t component = 0; component < table.components.size(); ++component) {
    if (plan.Holds(rank, table.components[component])) components_.push_back(static_cast<int>(component));
  }
  for (const FlatBucket& flat : store_->buckets()) {
    buckets_.push_back({flat.index, Values(flat.parameters), Values(flat.gradients), Values(flat.exp_avg),
                        Values(flat.exp_avg_sq), flat.segments});
  }
  for (size_t slice = 0; slice < table.slices.size(); ++slice) {
    const at::Tensor& leaf = store_->leaves()[slice];
    if (!leaf.defined()) continue;
    torch::autograd::impl::set_post_acc_grad_hooks(
        leaf, std::make_unique<Countdown::Hook>(countdown_.get(), store_->place(slice).bucket));
  }
}

Subnetwork::~Subnetwork() {
  graph_.reset();
  store_.reset();  // with the hooks, which refer to the countdown
}

absl::StatusOr<double> Subnetwork::Forward(const TokenRows& rows) {
  return CatchTorchErrors("forward pass", [&]() -> absl::StatusOr<double> {
    const Batch batch = BatchOf(rows);
    at::Tensor hidden;
    for (const int component : components_) {
      hidden = model_->Run(component, store_->leaves(), batch, hidden);
    }
    graph_->loss = std::move(hidden);
    return graph_->loss.item<double>();
  });
}

absl::Status Subnetwork::Backward(const std::function<void(int)>& ready) {
  return CatchTorchErrors("backward pass", [&]() -> absl::Status {
    countdown_->Arm(ready ? &ready : nullptr);
    torch::autograd::backward({std::exchange(graph_->loss, at::Tensor())});
    SDP_CHECK(countdown_->Complete(), "every held parameter takes part in the loss");
    return absl::OkStatus();
  });
}

absl::StatusOr<double> Subnetwork::Loss(const TokenRows& rows) const {
  return CatchTorchErrors("forward pass", [&]() -> absl::StatusOr<double> {
    const at::NoGradGuard no_grad;
    const Batch batch = BatchOf(rows);
    at::Tensor hidden;
    for (const int component : components_) {
      hidden = model_->Run(component, store_->leaves(), batch, hidden);
    }
    return hidden.item<double>();
  });
}

void Subnetwork::ZeroGradients() {
  for (const BucketBuffers& bucket : buckets_) {
    std::fill(bucket.gradients.begin(), bucket.gradients.end(), 0.0f);
  }
}

Subnetwork::SliceBuffers Subnetwork::slice(int slice) const {
  const ParameterStore::Place place = store_->place(slice);
  SDP_CHECK(place.bucket >= 0, "the slice is held");
  const BucketBuffers& bucket = buckets_[place.bucket];
  const int64_t elements = table_.slices[slice].elements;
  return {bucket.parameters.subspan(place.begin, elements), bucket.exp_avg.subspan(place.begin, elements),
          bucket.exp_avg_sq.subspan(place.begin, elements)};
}

}  // namespace sdp
