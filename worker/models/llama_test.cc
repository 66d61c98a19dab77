#include "worker/models/llama.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <string>
#include <vector>

#include "ATen/ops/cat.h"
#include "ATen/ops/tensor.h"
#include "common/base/random.h"
#include "torch/csrc/autograd/autograd.h"
#include "worker/models/plain_llama.h"

namespace sdp {
namespace {

struct Shape {
  const char* name;
  int heads;
  int kv_heads;
  bool tied;
};

LlamaSpec SpecOf(const Shape& shape) {
  LlamaSpec spec;
  spec.layers = 3;
  spec.hidden = 16;
  spec.heads = shape.heads;
  spec.kv_heads = shape.kv_heads;
  spec.ffn = 20;
  spec.vocab = 19;
  spec.seq_len = 9;
  spec.rope_theta = 100;
  spec.tied_embeddings = shape.tied;
  return spec;
}

// Parameters large enough that no part of the model is nearly linear.
std::vector<std::vector<float>> RandomParameters(const ParameterTable& table) {
  std::vector<std::vector<float>> values;
  Random random(11);
  for (const Parameter& parameter : table.parameters) {
    values.emplace_back(parameter.elements());
    for (float& value : values.back()) {
      value = static_cast<float>(random.Unit() - 0.5) + (parameter.init == Init::kOnes ? 1.0f : 0.0f);
    }
  }
  return values;
}

class LlamaTest : public ::testing::TestWithParam<Shape> {
 protected:
  LlamaTest() : spec_(SpecOf(GetParam())), table_(MakeParameterTable(spec_)), model_(spec_, table_) {
    const auto values = RandomParameters(table_);
    for (size_t i = 0; i < table_.parameters.size(); ++i) {
      const Parameter& parameter = table_.parameters[i];
      leaves_.push_back(at::tensor(values[i]).view(parameter.shape).requires_grad_(true));
      plain_[parameter.name] = std::vector<double>(values[i].begin(), values[i].end());
    }
    Random random(5);
    for (auto& row : tokens_) {
      for (int t = 0; t <= spec_.seq_len; ++t) row.push_back(static_cast<int64_t>(random.Below(spec_.vocab)));
    }
  }

  at::Tensor LossOf(const std::vector<int>& layers) const {
    const at::Tensor all = at::tensor(tokens_[0]).view({1, -1});
    const at::Tensor rows = at::cat({all, at::tensor(tokens_[1]).view({1, -1})}, 0);
    const Batch batch{rows.narrow(1, 0, spec_.seq_len), rows.narrow(1, 1, spec_.seq_len)};
    at::Tensor hidden = model_.Run(0, leaves_, batch, {});
    for (const int layer : layers) {
      hidden = model_.Run(table_.ComponentOfColumn(layer), leaves_, batch, hidden);
    }
    return model_.Run(static_cast<int>(table_.components.size()) - 1, leaves_, batch, hidden);
  }

  double PlainLossOf(const std::vector<int>& layers) const {
    return PlainLlamaLoss(spec_, plain_, layers, tokens_[0]) +
           PlainLlamaLoss(spec_, plain_, layers, tokens_[1]);
  }

  const LlamaSpec spec_;
  const ParameterTable table_;
  const LlamaModel model_;
  std::vector<at::Tensor> leaves_;
  PlainParameters plain_;
  std::vector<int64_t> tokens_[2];
};

TEST_P(LlamaTest, LossEqualsThatOfPlainLoops) {
  for (const std::vector<int>& layers : {std::vector<int>{0, 1, 2}, {1}, {0, 2}, {}}) {
    const double plain = PlainLossOf(layers);
    EXPECT_NEAR(LossOf(layers).item<double>(), plain, 1e-5 * plain) << layers.size() << " layers";
  }
}

TEST_P(LlamaTest, GradientsEqualNumericalOnesOfPlainLoops) {
  const std::vector<int> layers = {0, 2};
  torch::autograd::backward({LossOf(layers)});
  Random random(23);
  for (size_t i = 0; i < table_.parameters.size(); ++i) {
    const std::string& name = table_.parameters[i].name;
    if (name.find("layers.1.") != std::string::npos) {
      EXPECT_FALSE(leaves_[i].grad().defined()) << name << " is not run";
      continue;
    }
    const at::Tensor gradient = leaves_[i].grad().flatten();
    for (int sample = 0; sample < 4; ++sample) {
      const size_t element = random.Below(plain_[name].size());
      constexpr double kStep = 1e-5;
      const double kept = plain_[name][element];
      plain_[name][element] = kept + kStep;
      const double above = PlainLossOf(layers);
      plain_[name][element] = kept - kStep;
      const double below = PlainLossOf(layers);
      plain_[name][element] = kept;
      const double numerical = (above - below) / (2 * kStep);
      EXPECT_NEAR(gradient[element].item<double>(), numerical, 1e-4 * (1 + std::fabs(numerical)))
          << name << "[" << element << "]";
    }
  }
}

TEST_P(LlamaTest, UsesExactlyTheParametersOfTheTable) {
  std::vector<int> layers(spec_.layers);
  std::iota(layers.begin(), layers.end(), 0);
  torch::autograd::backward({LossOf(layers)});
  int64_t elements = 0;
  for (size_t i = 0; i < leaves_.size(); ++i) {
    ASSERT_TRUE(leaves_[i].grad().defined()) << table_.parameters[i].name;
    EXPECT_GT(leaves_[i].grad().abs().sum().item<double>(), 0) << table_.parameters[i].name;
    elements += leaves_[i].numel();
  }
  EXPECT_EQ(elements, table_.elements);
}

TEST_P(LlamaTest, ShorterSequencesAreThePrefix) {
  const at::Tensor tokens = at::tensor(tokens_[0]).view({1, -1}).narrow(1, 0, spec_.seq_len);
  const auto run = [&](const at::Tensor& prefix) {
    at::Tensor hidden = model_.Embed(model_.EmbeddingOf(leaves_), prefix);
    for (int layer = 0; layer < spec_.layers; ++layer) {
      hidden = model_.Block(model_.BlockOf(leaves_, layer), hidden);
    }
    return model_.Logits(model_.FinalNormOf(leaves_), model_.OutputOf(leaves_), hidden);
  };
  const at::Tensor whole = run(tokens);
  const at::Tensor prefix = run(tokens.narrow(1, 0, 4));
  EXPECT_LT(whole.narrow(1, 0, 4).sub(prefix).abs().max().item<double>(), 1e-5);
  const auto plain = PlainLlamaLogits(spec_, plain_, {0, 1, 2}, tokens_[0]);
  for (int v = 0; v < spec_.vocab; ++v) EXPECT_NEAR(prefix[0][3][v].item<double>(), plain[3][v], 1e-4);
}

INSTANTIATE_TEST_SUITE_P(Shapes, LlamaTest,
                         ::testing::Values(Shape{"MultiHead", 4, 4, false}, Shape{"Grouped", 4, 2, false},
                                           Shape{"MultiQueryTied", 4, 1, true}),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace sdp
