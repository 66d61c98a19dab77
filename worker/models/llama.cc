#include "worker/models/llama.h"

#include <string>

#include "ATen/ops/addcmul.h"
#include "ATen/ops/arange.h"
#include "ATen/ops/cat.h"
#include "ATen/ops/cross_entropy_loss.h"
#include "ATen/ops/embedding.h"
#include "ATen/ops/mm.h"
#include "ATen/ops/outer.h"
#include "ATen/ops/pow.h"
#include "ATen/ops/rms_norm.h"
#include "ATen/ops/roll.h"
#include "ATen/ops/scaled_dot_product_attention.h"
#include "ATen/ops/silu.h"
#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "common/base/check.h"

namespace sdp {
namespace {

// (..., inputs) x (outputs, inputs) -> (rows, outputs)
at::Tensor Linear(const at::Tensor& rows, const at::Tensor& weight) { return at::mm(rows, weight.t()); }

}  // namespace

LlamaModel::LlamaModel(const LlamaSpec& spec, const ParameterTable& table) : spec_(spec) {
  absl::flat_hash_map<std::string, int> slice_of;
  for (size_t i = 0; i < table.slices.size(); ++i) {
    slice_of[table.parameters[table.slices[i].parameter].name] = static_cast<int>(i);
  }
  const auto slice = [&slice_of](const std::string& name) {
    const auto found = slice_of.find(name);
    SDP_CHECK(found != slice_of.end(), "the table is that of a LLaMA");
    return found->second;
  };
  for (int layer = 0; layer < spec.layers; ++layer) {
    const std::string prefix = absl::StrCat("model.layers.", layer, ".");
    const auto weight = [&](const char* name) { return slice(absl::StrCat(prefix, name, ".weight")); };
    blocks_.push_back({weight("input_layernorm"), weight("self_attn.q_proj"), weight("self_attn.k_proj"),
                       weight("self_attn.v_proj"), weight("self_attn.o_proj"),
                       weight("post_attention_layernorm"), weight("mlp.gate_proj"), weight("mlp.up_proj"),
                       weight("mlp.down_proj")});
  }
  embedding_ = slice("model.embed_tokens.weight");
  final_norm_ = slice("model.norm.weight");
  output_ = spec.tied_embeddings ? embedding_ : slice("lm_head.weight");
  for (const Component& component : table.components) layer_of_component_.push_back(component.mask_column);

  const int64_t half = spec.head_dim() / 2;
  const at::Tensor exponents = at::arange(half, at::kFloat).mul(2.0 / spec.head_dim());
  const at::Tensor frequencies = at::pow(spec.rope_theta, exponents).reciprocal();
  const at::Tensor angles = at::outer(at::arange(spec.seq_len, at::kFloat), frequencies);  // (T, D/2)
  cos_ = at::cat({angles.cos(), angles.cos()}, 1).unsqueeze(1);
  sin_ = at::cat({angles.sin().neg(), angles.sin()}, 1).unsqueeze(1);
}

at::Tensor LlamaModel::Run(int component, const std::vector<at::Tensor>& slices, const Batch& batch,
                           const at::Tensor& hidden) const {
  if (component == 0) return Embed(EmbeddingOf(slices), batch.inputs);
  const int layer = layer_of_component_[component];
  if (layer >= 0) return Block(BlockOf(slices, layer), hidden);
  const at::Tensor logits = Logits(FinalNormOf(slices), OutputOf(slices), hidden);
  return at::cross_entropy_loss(logits.flatten(0, 1), batch.targets.reshape({-1}), {}, at::Reduction::Sum);
}

at::Tensor LlamaModel::Embed(const at::Tensor& weight, const at::Tensor& tokens) const {
  return at::embedding(weight, tokens);
}

at::Tensor LlamaModel::Block(const LlamaBlock& block, const at::Tensor& hidden) const {
  const at::Tensor normed = at::rms_norm(hidden, {spec_.hidden}, block.input_norm, spec_.norm_eps);
  const at::Tensor attended = hidden.add(Attention(block, normed));
  const at::Tensor rows =
      at::rms_norm(attended, {spec_.hidden}, block.attention_norm, spec_.norm_eps).flatten(0, 1);
  const at::Tensor gated = at::silu(Linear(rows, block.gate)).mul(Linear(rows, block.up));  // (B T, F)
  return attended.add(Linear(gated, block.down).view_as(hidden));
}

at::Tensor LlamaModel::Attention(const LlamaBlock& block, const at::Tensor& normed) const {
  const int64_t sequences = normed.size(0);
  const int64_t tokens = normed.size(1);
  const int64_t head_dim = spec_.head_dim();
  const at::Tensor rows = normed.flatten(0, 1);
  const at::Tensor query = Linear(rows, block.query).view({sequences, tokens, spec_.heads, head_dim});
  const at::Tensor key = Linear(rows, block.key).view({sequences, tokens, spec_.kv_heads, head_dim});
  const at::Tensor value = Linear(rows, block.value).view({sequences, tokens, spec_.kv_heads, head_dim});
  const at::Tensor mixed = at::scaled_dot_product_attention(
      Rotate(query).transpose(1, 2), Rotate(key).transpose(1, 2), value.transpose(1, 2), {}, 0.0,
      /*is_causal=*/true, {}, /*enable_gqa=*/spec_.heads != spec_.kv_heads);  // (B, heads, T, D)
  return Linear(mixed.transpose(1, 2).reshape({sequences * tokens, spec_.heads * head_dim}), block.output)
      .view_as(normed);
}

at::Tensor LlamaModel::Rotate(const at::Tensor& heads) const {
  const at::Tensor cos = cos_.narrow(0, 0, heads.size(1));
  const at::Tensor sin = sin_.narrow(0, 0, heads.size(1));
  return at::addcmul(heads.mul(cos), at::roll(heads, spec_.head_dim() / 2, -1), sin);
}

at::Tensor LlamaModel::Logits(const at::Tensor& norm, const at::Tensor& weight,
                              const at::Tensor& hidden) const {
  const at::Tensor normed = at::rms_norm(hidden, {spec_.hidden}, norm, spec_.norm_eps);
  return Linear(normed.flatten(0, 1), weight).view({hidden.size(0), hidden.size(1), weight.size(0)});
}

LlamaBlock LlamaModel::BlockOf(const std::vector<at::Tensor>& slices, int layer) const {
  const BlockSlices& at = blocks_[layer];
  return {slices[at.input_norm],     slices[at.query], slices[at.key], slices[at.value], slices[at.output],
          slices[at.attention_norm], slices[at.gate],  slices[at.up],  slices[at.down]};
}

std::unique_ptr<Model> MakeModel(const LlamaSpec& spec, const ParameterTable& table) {
  return std::make_unique<LlamaModel>(spec, table);
}

}  // namespace sdp
