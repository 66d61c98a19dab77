// The one table of a model's parameters. Masks, costs, memory, allocation, averaging, checkpoint and export
// read it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/model/job_spec.h"

namespace sdp {

enum class Init {
  kNormal,  // mean 0, standard deviation Parameter::init_std
  kOnes,
};

// One tensor of the full model, float32.
struct Parameter {
  std::string name;            // as in the usual libraries: model.layers.0.mlp.up_proj.weight
  std::vector<int64_t> shape;  // of the full tensor
  Init init = Init::kNormal;
  double init_std = 0.02;
  bool decayed = true;  // whether weight decay applies

  int64_t elements() const {
    int64_t n = 1;
    for (int64_t d : shape) n *= d;
    return n;
  }
};

// A range [begin, end) of one axis of one parameter: the unit that is held, averaged and stored.
struct Slice {
  int parameter = 0;  // index into ParameterTable::parameters
  int axis = 0;
  int64_t begin = 0;
  int64_t end = 0;
  int component = 0;     // index into ParameterTable::components
  int64_t elements = 0;  // number of elements in the range
};

// What a mask switches, or what is shared by all. A set of slices, so a block, a group of neurons or of heads
// alike.
struct Component {
  std::string name;      // "embedding", "block 3", "head"
  int mask_column = -1;  // column of the mask; -1: shared, held by everyone
  int first_slice = 0;   // its slices are [first_slice, end_slice) of ParameterTable::slices
  int end_slice = 0;
  int64_t elements = 0;
  double flops_per_token = 0;  // forward and backward passes of one token (2 + 4 per multiply-add pair)
  double activation_bytes_per_token = 0;  // kept from forward to backward, per token

  bool shared() const { return mask_column < 0; }
};

// In forward order: parameters and components are listed as the input meets them.
struct ParameterTable {
  std::vector<Parameter> parameters;
  std::vector<Slice> slices;
  std::vector<Component> components;
  int mask_columns = 0;  // number of maskable components
  int64_t elements = 0;  // of the full model

  // Index into `components` of mask column `column`.
  int ComponentOfColumn(int column) const;
};

// The table of a LLaMA: shared "embedding", one maskable component for each block, shared "head" (final norm,
// and the output weight unless the embeddings are tied). Residual outputs (o_proj, down_proj) start at 0.02 /
// sqrt(2 layers) (GPT-2, Radford et al. 2019), so the residual stream does not grow with depth.
ParameterTable MakeParameterTable(const LlamaSpec& spec);

}  // namespace sdp
