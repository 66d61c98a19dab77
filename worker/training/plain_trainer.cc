#include "worker/training/plain_trainer.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "ATen/ops/tensor.h"
#include "common/base/check.h"
#include "common/model/sample_order.h"
#include "torch/csrc/autograd/autograd.h"
#include "worker/models/initial_values.h"
#include "worker/models/model.h"

namespace sdp {

PlainTrainer::PlainTrainer(const JobSpec& spec, const ParameterTable& table, const Plan& plan,
                           std::shared_ptr<const TokenDataset> train)
    : spec_(spec), table_(table), plan_(plan), train_(std::move(train)), ranks_(plan.world_size()) {
  for (RankState& state : ranks_) {
    state.parameters.resize(table.parameters.size());
    state.exp_avg.resize(table.parameters.size());
    state.exp_avg_sq.resize(table.parameters.size());
  }
  for (size_t i = 0; i < table.parameters.size(); ++i) {
    std::vector<float> values(table.parameters[i].elements());
    FillInitialValues(table.parameters[i], spec.seed, absl::MakeSpan(values));
    for (const Rank rank : HoldersOf(static_cast<int>(i))) {
      ranks_[rank].parameters[i].assign(values.begin(), values.end());
      ranks_[rank].exp_avg[i].assign(values.size(), 0.0);
      ranks_[rank].exp_avg_sq[i].assign(values.size(), 0.0);
    }
  }
}

std::vector<Rank> PlainTrainer::HoldersOf(int parameter) const {
  std::vector<Rank> holders;
  const Component& component = table_.components[table_.slices[parameter].component];
  for (Rank rank = 0; rank < plan_.world_size(); ++rank) {
    if (component.shared() || plan_.mask.holds(rank, component.mask_column)) holders.push_back(rank);
  }
  return holders;
}

int64_t PlainTrainer::TokensOf(const std::vector<Rank>& ranks) const {
  int64_t tokens = 0;
  for (const Rank rank : ranks) tokens += plan_.members[rank].sequences * spec_.model.seq_len;
  return tokens;
}

double PlainTrainer::Clip(double norm) const {
  return spec_.optimizer.clip_norm > 0 ? std::min(1.0, spec_.optimizer.clip_norm / (norm + 1e-6)) : 1.0;
}

// Sequence by sequence.
PlainTrainer::Tensors PlainTrainer::Gradients(Rank rank, double* loss) const {
  const auto model = MakeModel(spec_.model, table_);
  std::vector<at::Tensor> leaves(table_.parameters.size());
  for (size_t i = 0; i < leaves.size(); ++i) {
    const std::vector<double>& values = ranks_[rank].parameters[i];
    if (values.empty()) continue;
    leaves[i] = at::tensor(std::vector<float>(values.begin(), values.end()))
                    .view(table_.parameters[i].shape)
                    .requires_grad_(true);
  }
  const SampleOrder order(spec_.seed, train_->sequences());
  const PlanMember& member = plan_.members[rank];
  Tensors gradients(leaves.size());
  for (size_t i = 0; i < leaves.size(); ++i) gradients[i].assign(ranks_[rank].parameters[i].size(), 0.0);
  for (int s = 0; s < member.sequences; ++s) {
    std::vector<int64_t> tokens(spec_.model.seq_len + 1);
    const int64_t position = step_ * spec_.batch.global_sequences + member.first_sequence + s;
    SDP_CHECK(train_->Read(order.SampleAt(position), absl::MakeSpan(tokens)).ok(), "test data is good");
    const at::Tensor all = at::tensor(tokens).view({1, -1});
    const Batch batch{all.narrow(1, 0, spec_.model.seq_len), all.narrow(1, 1, spec_.model.seq_len)};
    at::Tensor hidden;
    for (size_t component = 0; component < table_.components.size(); ++component) {
      if (!leaves[table_.components[component].first_slice].defined()) continue;
      hidden = model->Run(static_cast<int>(component), leaves, batch, hidden);
    }
    *loss += hidden.item<double>();
    torch::autograd::backward({hidden});
    for (size_t i = 0; i < leaves.size(); ++i) {
      if (!leaves[i].defined()) continue;
      const float* gradient = leaves[i].grad().contiguous().data_ptr<float>();
      for (size_t k = 0; k < gradients[i].size(); ++k) gradients[i][k] += gradient[k];
      leaves[i].mutable_grad().reset();
    }
  }
  return gradients;
}

PlainTrainer::Outcome PlainTrainer::Step() {
  Outcome outcome;
  double loss = 0;
  std::vector<Tensors> gradients;
  for (Rank rank = 0; rank < plan_.world_size(); ++rank) gradients.push_back(Gradients(rank, &loss));
  outcome.loss = loss / static_cast<double>(spec_.tokens_per_step());

  if (spec_.averaging.mode == AveragingMode::kParameters) {
    for (Rank rank = 0; rank < plan_.world_size(); ++rank) {
      const double tokens = static_cast<double>(TokensOf({rank}));
      if (tokens == 0) continue;
      double squares = 0;
      for (const auto& gradient : gradients[rank]) {
        for (const double g : gradient) squares += g * g / tokens / tokens;
      }
      Apply(rank, gradients[rank], Clip(std::sqrt(squares)) / tokens);
    }
    ++step_;
    return outcome;
  }

  double squares = 0;
  Tensors means(table_.parameters.size());
  for (size_t i = 0; i < means.size(); ++i) {
    const std::vector<Rank> holders = HoldersOf(static_cast<int>(i));
    means[i].assign(table_.parameters[i].elements(), 0.0);
    for (size_t k = 0; k < means[i].size(); ++k) {
      for (const Rank rank : holders) means[i][k] += gradients[rank][i][k];
      means[i][k] /= static_cast<double>(TokensOf(holders));
      squares += means[i][k] * means[i][k];
    }
  }
  outcome.gradient_norm = std::sqrt(squares);
  for (Rank rank = 0; rank < plan_.world_size(); ++rank) Apply(rank, means, Clip(outcome.gradient_norm));
  ++step_;
  return outcome;
}

void PlainTrainer::Apply(Rank rank, const Tensors& gradients, double scale) {
  const AdamWSpec& adamw = spec_.optimizer.adamw;
  const double rate = LearningRate(spec_.optimizer, step_, spec_.total_steps());
  const double correction1 = 1 - std::pow(adamw.beta1, step_ + 1);
  const double correction2 = 1 - std::pow(adamw.beta2, step_ + 1);
  RankState& state = ranks_[rank];
  for (size_t i = 0; i < gradients.size(); ++i) {
    for (size_t k = 0; k < state.parameters[i].size(); ++k) {
      const double g = gradients[i][k] * scale;
      double& p = state.parameters[i][k];
      double& m = state.exp_avg[i][k];
      double& v = state.exp_avg_sq[i][k];
      if (table_.parameters[i].decayed) p -= rate * adamw.weight_decay * p;
      m = adamw.beta1 * m + (1 - adamw.beta1) * g;
      v = adamw.beta2 * v + (1 - adamw.beta2) * g * g;
      p -= rate * (m / correction1) / (std::sqrt(v / correction2) + adamw.eps);
    }
  }
}

void PlainTrainer::AverageParameters() {
  for (size_t i = 0; i < table_.parameters.size(); ++i) {
    const std::vector<Rank> holders = HoldersOf(static_cast<int>(i));
    std::vector<double> mean(table_.parameters[i].elements(), 0.0);
    for (const Rank rank : holders) {
      const double weight = static_cast<double>(TokensOf({rank})) / static_cast<double>(TokensOf(holders));
      for (size_t k = 0; k < mean.size(); ++k) mean[k] += weight * ranks_[rank].parameters[i][k];
    }
    for (const Rank rank : holders) ranks_[rank].parameters[i] = mean;
  }
}

}  // namespace sdp
