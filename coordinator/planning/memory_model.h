// Peak tensor memory of a worker, known before it runs.
//
// The prediction is a contract: never below what LibTorch's CPU allocator counts for a trainer, from its
// construction through training, averaging and evaluation, and at most 8% above it
// (tests/memory_prediction_test.cc). Counted are the bytes that tensors ask for; the allocator's rounding,
// the buffers of sockets and the process itself are not.
#pragma once

#include <cstdint>
#include <vector>

#include "common/model/job_spec.h"
#include "common/model/parameter_table.h"
#include "common/model/plan.h"

namespace sdp {

// Threads of a worker that has not said how many it has. Each adds the fused attention's scratch (at most
// 1 MiB), so an assumption that is too high costs little.
constexpr int kAssumedThreads = 16;

// What of a job and its plan bears on one worker's memory.
struct MemoryInputs {
  int64_t elements = 0;  // parameters held
  int blocks = 0;        // held
  int rows = 0;          // sequences that run at once in training
  int threads = kAssumedThreads;
  int evaluation_rows = 0;        // that run at once in an evaluation; 0: there is none
  int evaluation_kept_rows = 0;   // whose hidden states an evaluation keeps between components
  int64_t received_elements = 0;  // of the buffers for components that not everyone holds
};

// By rank, of a plan that is complete but for digest and summary.
std::vector<MemoryInputs> MakeMemoryInputs(const JobSpec& spec, const ParameterTable& table,
                                           const Plan& plan);

// Blocks that a worker with `inputs` could hold within `limit` bytes, at most inputs.blocks; -1: not even
// none. `block_elements` are the parameters of one.
int BlocksThatFit(const LlamaSpec& model, int64_t block_elements, MemoryInputs inputs, int64_t limit);

WorkerMemory PredictMemory(const LlamaSpec& model, const MemoryInputs& inputs);

}  // namespace sdp
