// The parameter table of the LLaMA family.
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/model/parameter_table.h"

namespace sdp {
namespace {

constexpr double kInitStd = 0.02;
constexpr double kFloatBytes = 4.0;
// Forward 2 and backward 4 floating-point operations for each multiply-add pair of the forward pass.
constexpr double kFlopsPerPair = 6.0;

// Appends parameters to the last component; each is held as a whole, in one slice.
class TableBuilder {
 public:
  void BeginComponent(std::string name, bool maskable) {
    Component component;
    component.name = std::move(name);
    component.mask_column = maskable ? table_.mask_columns++ : -1;
    component.first_slice = component.end_slice = static_cast<int>(table_.slices.size());
    table_.components.push_back(std::move(component));
  }

  void AddNorm(std::string name, int64_t size) {
    Parameter parameter;
    parameter.name = std::move(name);
    parameter.shape = {size};
    parameter.init = Init::kOnes;
    parameter.decayed = false;
    Add(std::move(parameter));
  }

  // `rows` x `columns`: (output, input) features of a linear map, or (tokens, hidden) of an embedding.
  void AddWeight(std::string name, int64_t rows, int64_t columns, double init_std = kInitStd) {
    Parameter parameter;
    parameter.name = std::move(name);
    parameter.shape = {rows, columns};
    parameter.init_std = init_std;
    Add(std::move(parameter));
  }

  void SetCosts(double pairs_per_token, double activation_floats_per_token) {
    Component& component = table_.components.back();
    component.flops_per_token = kFlopsPerPair * pairs_per_token;
    component.activation_bytes_per_token = kFloatBytes * activation_floats_per_token;
  }

  ParameterTable Take() && { return std::move(table_); }

 private:
  void Add(Parameter parameter) {
    Component& component = table_.components.back();
    Slice slice;
    slice.parameter = static_cast<int>(table_.parameters.size());
    slice.end = parameter.shape[0];
    slice.component = static_cast<int>(table_.components.size()) - 1;
    slice.elements = parameter.elements();
    component.end_slice = static_cast<int>(table_.slices.size()) + 1;
    component.elements += slice.elements;
    table_.elements += slice.elements;
    table_.slices.push_back(slice);
    table_.parameters.push_back(std::move(parameter));
  }

  ParameterTable table_;
};

// Matrix products count in full: every weight once per token. Attention counts the causal half, (T + 1) / 2
// positions per token for scores and as many for weighted values: the fused kernel skips masked positions,
// but for at most one block of queries. Element-wise work is left out.
//
// Activations are what automatic differentiation keeps in float32: for each of the two norms its input, the
// normalised input and its output (6 hidden); rotated queries and the attention output (2 hidden); rotated
// keys and values (2 kv); the log-sum of each head's scores, because the fused kernel keeps no T x T weights;
// and of the feed-forward layer gate, its SiLU, up and their product (4 ffn).
void AddBlock(TableBuilder& table, const LlamaSpec& spec, int layer) {
  const int64_t hidden = spec.hidden;
  const int64_t kv = static_cast<int64_t>(spec.kv_heads) * spec.head_dim();
  const int64_t ffn = spec.ffn;
  // Each block adds to the residual stream twice.
  const double residual_std = kInitStd / std::sqrt(2.0 * spec.layers);
  const std::string prefix = absl::StrCat("model.layers.", layer, ".");

  table.BeginComponent(absl::StrCat("block ", layer), /*maskable=*/true);
  table.AddNorm(prefix + "input_layernorm.weight", hidden);
  table.AddWeight(prefix + "self_attn.q_proj.weight", hidden, hidden);
  table.AddWeight(prefix + "self_attn.k_proj.weight", kv, hidden);
  table.AddWeight(prefix + "self_attn.v_proj.weight", kv, hidden);
  table.AddWeight(prefix + "self_attn.o_proj.weight", hidden, hidden, residual_std);
  table.AddNorm(prefix + "post_attention_layernorm.weight", hidden);
  table.AddWeight(prefix + "mlp.gate_proj.weight", ffn, hidden);
  table.AddWeight(prefix + "mlp.up_proj.weight", ffn, hidden);
  table.AddWeight(prefix + "mlp.down_proj.weight", hidden, ffn, residual_std);

  const double h = spec.hidden, k = static_cast<double>(kv), f = spec.ffn, t = spec.seq_len;
  table.SetCosts(2 * h * h + 2 * h * k + 3 * h * f + (t + 1) * h, 8 * h + 2 * k + spec.heads + 4 * f);
}

}  // namespace

ParameterTable MakeParameterTable(const LlamaSpec& spec) {
  TableBuilder table;
  table.BeginComponent("embedding", /*maskable=*/false);
  table.AddWeight("model.embed_tokens.weight", spec.vocab, spec.hidden);
  table.SetCosts(0, 2);  // a look-up; it keeps the token's 64-bit index

  for (int layer = 0; layer < spec.layers; ++layer) AddBlock(table, spec, layer);

  table.BeginComponent("head", /*maskable=*/false);
  table.AddNorm("model.norm.weight", spec.hidden);
  if (!spec.tied_embeddings) table.AddWeight("lm_head.weight", spec.vocab, spec.hidden);
  const double h = spec.hidden, v = spec.vocab;
  // Tied or not, the logits are computed. Kept: the norm as in a block, and the logarithms of the softmax.
  table.SetCosts(h * v, 3 * h + v);
  return std::move(table).Take();
}

}  // namespace sdp
