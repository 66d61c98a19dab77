#include "worker/models/plain_llama.h"

#include <cmath>

#include "absl/strings/str_cat.h"

namespace sdp {
namespace {

using Row = std::vector<double>;
using Rows = std::vector<Row>;

Row Multiply(const std::vector<double>& matrix, const Row& input) {
  Row output(matrix.size() / input.size(), 0.0);
  for (size_t i = 0; i < output.size(); ++i) {
    for (size_t j = 0; j < input.size(); ++j) output[i] += matrix[i * input.size() + j] * input[j];
  }
  return output;
}

Row Norm(const std::vector<double>& weight, const Row& input, double eps) {
  double mean_square = 0;
  for (const double x : input) mean_square += x * x / static_cast<double>(input.size());
  Row output(input.size());
  for (size_t i = 0; i < input.size(); ++i) output[i] = weight[i] * input[i] / std::sqrt(mean_square + eps);
  return output;
}

// Elements i and i + D/2 of each head are a pair, turned by position x theta^(-2i/D).
Row Rotate(const Row& heads, int head_dim, double theta, int position) {
  Row output = heads;
  for (size_t begin = 0; begin < heads.size(); begin += head_dim) {
    for (int i = 0; i < head_dim / 2; ++i) {
      const double angle = position * std::pow(theta, -2.0 * i / head_dim);
      const double a = heads[begin + i];
      const double b = heads[begin + i + head_dim / 2];
      output[begin + i] = a * std::cos(angle) - b * std::sin(angle);
      output[begin + i + head_dim / 2] = b * std::cos(angle) + a * std::sin(angle);
    }
  }
  return output;
}

// Attention of the last of the positions in `keys`.
Row Attend(const LlamaSpec& spec, const Row& query, const Rows& keys, const Rows& values) {
  const int dim = spec.head_dim();
  Row output(query.size(), 0.0);
  for (int head = 0; head < spec.heads; ++head) {
    const int group = head / (spec.heads / spec.kv_heads);
    Row weights;
    double total = 0;
    for (const Row& key : keys) {
      double score = 0;
      for (int i = 0; i < dim; ++i) score += query[head * dim + i] * key[group * dim + i];
      weights.push_back(std::exp(score / std::sqrt(static_cast<double>(dim))));
      total += weights.back();
    }
    for (size_t t = 0; t < values.size(); ++t) {
      for (int i = 0; i < dim; ++i) {
        output[head * dim + i] += weights[t] / total * values[t][group * dim + i];
      }
    }
  }
  return output;
}

void AddTo(Row& row, const Row& other) {
  for (size_t i = 0; i < row.size(); ++i) row[i] += other[i];
}

void RunLayer(const LlamaSpec& spec, const PlainParameters& parameters, int layer, Rows& hidden) {
  const auto weight = [&](const char* name) -> const std::vector<double>& {
    return parameters.at(absl::StrCat("model.layers.", layer, ".", name, ".weight"));
  };
  Rows keys;
  Rows values;
  for (size_t t = 0; t < hidden.size(); ++t) {
    const int position = static_cast<int>(t);
    const Row normed = Norm(weight("input_layernorm"), hidden[t], spec.norm_eps);
    const Row query = Multiply(weight("self_attn.q_proj"), normed);
    const Row key = Multiply(weight("self_attn.k_proj"), normed);
    keys.push_back(Rotate(key, spec.head_dim(), spec.rope_theta, position));
    values.push_back(Multiply(weight("self_attn.v_proj"), normed));
    const Row mixed = Attend(spec, Rotate(query, spec.head_dim(), spec.rope_theta, position), keys, values);
    AddTo(hidden[t], Multiply(weight("self_attn.o_proj"), mixed));
  }
  for (Row& row : hidden) {
    const Row normed = Norm(weight("post_attention_layernorm"), row, spec.norm_eps);
    Row gate = Multiply(weight("mlp.gate_proj"), normed);
    const Row up = Multiply(weight("mlp.up_proj"), normed);
    for (size_t i = 0; i < gate.size(); ++i) gate[i] = gate[i] / (1 + std::exp(-gate[i])) * up[i];
    AddTo(row, Multiply(weight("mlp.down_proj"), gate));
  }
}

}  // namespace

std::vector<std::vector<double>> PlainLlamaLogits(const LlamaSpec& spec, const PlainParameters& parameters,
                                                  const std::vector<int>& layers,
                                                  const std::vector<int64_t>& tokens) {
  const std::vector<double>& embedding = parameters.at("model.embed_tokens.weight");
  Rows hidden;
  for (const int64_t token : tokens) {
    hidden.emplace_back(embedding.begin() + token * spec.hidden,
                        embedding.begin() + (token + 1) * spec.hidden);
  }
  for (const int layer : layers) RunLayer(spec, parameters, layer, hidden);
  const std::vector<double>& output = spec.tied_embeddings ? embedding : parameters.at("lm_head.weight");
  for (Row& row : hidden) {
    row = Multiply(output, Norm(parameters.at("model.norm.weight"), row, spec.norm_eps));
  }
  return hidden;
}

double PlainLlamaLoss(const LlamaSpec& spec, const PlainParameters& parameters,
                      const std::vector<int>& layers, const std::vector<int64_t>& tokens) {
  const Rows logits =
      PlainLlamaLogits(spec, parameters, layers, std::vector<int64_t>(tokens.begin(), tokens.end() - 1));
  double loss = 0;
  for (size_t t = 0; t < logits.size(); ++t) {
    double total = 0;
    for (const double logit : logits[t]) total += std::exp(logit);
    loss += std::log(total) - logits[t][tokens[t + 1]];
  }
  return loss;
}

}  // namespace sdp
