// What training needs to know of a family of models.
#pragma once

#include <memory>
#include <vector>

#include "ATen/core/Tensor.h"
#include "common/model/job_spec.h"
#include "common/model/parameter_table.h"

namespace sdp {

// One micro-batch of B sequences of T tokens.
struct Batch {
  at::Tensor inputs;   // (B, T) int64
  at::Tensor targets;  // (B, T) int64: inputs moved on by one token
};

// How the components of a parameter table run, as functions without state over tensors that the caller owns:
// the held subnetwork, a streamed full model and an exported model all run through this.
class Model {
 public:
  virtual ~Model() = default;

  // Runs one component. A subnetwork is the table's components in order, less those not held: the first
  // ignores `hidden`, each next one gets what the one before returned, and the last returns a scalar, the sum
  // of the batch's cross entropies in nats. `slices` is indexed like ParameterTable::slices; those of this
  // component, and of the shared ones that it uses, must be defined.
  virtual at::Tensor Run(int component, const std::vector<at::Tensor>& slices, const Batch& batch,
                         const at::Tensor& hidden) const = 0;
};

// `table` must be that of `spec`.
std::unique_ptr<Model> MakeModel(const LlamaSpec& spec, const ParameterTable& table);

}  // namespace sdp
