// Training of one job on one worker: the subnetwork, its steps, validation and export. No torch types in this
// header.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/data/token_dataset.h"
#include "common/model/job_spec.h"
#include "common/model/parameter_table.h"
#include "common/model/plan.h"
#include "common/model/worker_messages.h"
#include "worker/averaging/communicator.h"

namespace sdp {

// What a round of training did: one step when gradients are averaged, H steps when parameters are.
struct RoundOutcome {
  std::vector<CommittedStep> steps;
};

// A snapshot of counters; sums are since the trainer began.
struct TrainerStats {
  int64_t committed_steps = 0;
  bool next_step_ready = false;  // all averages of the next step are complete
  StepPhase phase = StepPhase::kNone;
  PhaseSeconds phase_seconds;
  double step_seconds = 0;  // median of the last steps
  // Time in which an averaging collective was under way, and the part of it after backward had ended.
  double averaging_seconds = 0, exposed_averaging_seconds = 0;
  int64_t tensor_bytes = 0;       // at the allocator, this process
  int64_t peak_tensor_bytes = 0;  // since the trainer began
};

struct TrainerInputs {
  JobSpec spec;
  ParameterTable table;
  Plan plan;
  Rank rank = 0;
  std::shared_ptr<const TokenDataset> train;
  std::shared_ptr<const TokenDataset> validation;  // null: no validation
};

// One thread drives a trainer; stats() may be called from any thread. After an error the trainer is good for
// nothing but destruction.
class Trainer {
 public:
  // Allocates and initialises the held components and nothing else. The initial value of a parameter depends
  // on the seed and its name only, so all holders begin equal. RESOURCE_EXHAUSTED: out of memory, with the
  // amount.
  static absl::StatusOr<std::unique_ptr<Trainer>> Create(TrainerInputs inputs);
  virtual ~Trainer() = default;

  // Makes one communicator per holder set on the connected mesh, which must outlive the trainer.
  virtual absl::Status Connect(Mesh& mesh) = 0;

  // Runs the next round up to and including its commit. Errors of a collective come back as the Communicator
  // gave them; a sample's error names the file. An error means: not committed here.
  virtual absl::StatusOr<RoundOutcome> TrainRound() = 0;

  // Validates the full model (blocks streamed from their holders; no worker needs all of them at once) and
  // this worker's subnetwork. A collective call: all ranks at the same step.
  virtual absl::StatusOr<EvaluationOutcome> Evaluate() = 0;

  // Writes this rank's shard of the full model into `directory` (safetensors; rank 0 writes config.json and
  // the index too) and returns once all ranks have. Returns the names of the files that this rank wrote. A
  // collective call. Errors name the file: PERMISSION_DENIED, RESOURCE_EXHAUSTED (disk full), NOT_FOUND (the
  // ranks see different folders).
  virtual absl::StatusOr<std::vector<std::string>> Export(const std::string& directory) = 0;

  virtual TrainerStats stats() const = 0;

  // Hash over the parameters and moments of one held component: equal on all its holders after every commit.
  // When parameters are averaged, over the parameters alone: moments are each worker's own.
  virtual uint64_t ComponentHash(int component) const = 0;
};

}  // namespace sdp
