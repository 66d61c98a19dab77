// LLaMA (Touvron et al. 2023) with the numerics of the usual libraries: RMSNorm before each branch, rotary
// positions in the rotate-half convention, grouped-query attention, SwiGLU.
#pragma once

#include <vector>

#include "ATen/core/Tensor.h"
#include "common/model/job_spec.h"
#include "common/model/parameter_table.h"
#include "worker/models/model.h"

namespace sdp {

// Weights of one block. Matrices are (outputs, inputs).
struct LlamaBlock {
  at::Tensor input_norm;      // (H)
  at::Tensor query;           // (heads D, H)
  at::Tensor key;             // (kv_heads D, H)
  at::Tensor value;           // (kv_heads D, H)
  at::Tensor output;          // (H, heads D)
  at::Tensor attention_norm;  // (H)
  at::Tensor gate;            // (F, H)
  at::Tensor up;              // (F, H)
  at::Tensor down;            // (H, F)
};

class LlamaModel : public Model {
 public:
  LlamaModel(const LlamaSpec& spec, const ParameterTable& table);

  at::Tensor Run(int component, const std::vector<at::Tensor>& slices, const Batch& batch,
                 const at::Tensor& hidden) const override;

  // The parts of Run. H: hidden, D: head_dim, F: ffn, V: vocab; T may be shorter than the model's seq_len.
  // tokens (B, T) -> (B, T, H)
  at::Tensor Embed(const at::Tensor& weight, const at::Tensor& tokens) const;
  // (B, T, H) -> (B, T, H)
  at::Tensor Block(const LlamaBlock& block, const at::Tensor& hidden) const;
  // (B, T, H) -> (B, T, V)
  at::Tensor Logits(const at::Tensor& norm, const at::Tensor& weight, const at::Tensor& hidden) const;

  // The tensors of layer `layer`, and those of the head, among `slices`.
  LlamaBlock BlockOf(const std::vector<at::Tensor>& slices, int layer) const;
  const at::Tensor& EmbeddingOf(const std::vector<at::Tensor>& slices) const { return slices[embedding_]; }
  const at::Tensor& FinalNormOf(const std::vector<at::Tensor>& slices) const { return slices[final_norm_]; }
  const at::Tensor& OutputOf(const std::vector<at::Tensor>& slices) const { return slices[output_]; }

 private:
  struct BlockSlices {
    int input_norm, query, key, value, output, attention_norm, gate, up, down;
  };

  // (B, T, n, D) -> the same, each position's pairs turned by its angles.
  at::Tensor Rotate(const at::Tensor& heads) const;
  at::Tensor Attention(const LlamaBlock& block, const at::Tensor& normed) const;

  const LlamaSpec spec_;
  std::vector<int> layer_of_component_;  // -1: not a block
  std::vector<BlockSlices> blocks_;
  int embedding_ = 0;
  int final_norm_ = 0;
  int output_ = 0;  // the embedding's when they are tied
  at::Tensor cos_;  // (T, 1, D)
  at::Tensor sin_;  // (T, 1, D), negative in the first half
};

}  // namespace sdp
