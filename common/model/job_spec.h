// A validated training job, as the pure code sees it. Made from the proto by common/wire only; every value
// here has been checked and every default filled in.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace sdp {

struct LlamaSpec {
  int layers = 0;
  int hidden = 0;
  int heads = 0;
  int kv_heads = 0;
  int ffn = 0;
  int vocab = 0;
  int seq_len = 0;
  double rope_theta = 10000.0;
  double norm_eps = 1e-5;
  bool tied_embeddings = false;

  int head_dim() const { return hidden / heads; }
};

enum class DataFormat { kDetect, kLlmc, kNanogpt, kMegatron };

struct DataSpec {
  std::vector<std::string> train_shards;
  std::vector<std::string> validation_shards;
  DataFormat format = DataFormat::kDetect;
};

enum class MaskingUnit { kBlock };
enum class MaskingDirection { kForward };
// kBalanced optimises the spectral gap; kRandom draws holders uniformly, as the paper does; kCyclic shifts
// one window of workers; kExplicit takes `matrix`; kFull is data parallelism.
enum class MaskGenerator { kBalanced, kExplicit, kFull, kRandom, kCyclic };

struct MaskingSpec {
  MaskingUnit unit = MaskingUnit::kBlock;
  MaskingDirection direction = MaskingDirection::kForward;
  double active_ratio = 1.0;
  MaskGenerator generator = MaskGenerator::kBalanced;
  std::vector<std::vector<bool>> matrix;  // [rank][maskable component]; for kExplicit only
  uint64_t seed = 0;
  bool allow_disconnected = false;  // take masks whose workers fall into parts that share no component
  int max_holder_sets = 0;          // of maskable components, each a communicator; 0: no limit
};

enum class AveragingMode { kGradients, kParameters };

struct AveragingSpec {
  AveragingMode mode = AveragingMode::kGradients;
  int every_steps = 1;
};

struct AdamWSpec {
  double learning_rate = 1e-3;
  double beta1 = 0.9;
  double beta2 = 0.95;
  double eps = 1e-8;
  double weight_decay = 0.1;
};

struct ScheduleSpec {
  int warmup_steps = 0;
  double final_ratio = 0.1;
};

struct OptimizerSpec {
  AdamWSpec adamw;
  ScheduleSpec schedule;
  double clip_norm = 1.0;  // 0: no clipping
};

struct BatchSpec {
  int global_sequences = 0;
  int micro_sequences = 0;  // 0: a worker's whole share at once
};

struct EvaluationSpec {
  int interval_steps = 0;  // 0: at the end only
  int max_sequences = 0;   // 0: all
};

// What the plan takes one worker to be, instead of what it declares. 0: as declared.
struct NamedWorkerProfile {
  std::string worker;
  int64_t memory_budget_bytes = 0;
  double relative_speed = 0;
};

struct WorkersSpec {
  int min = 1;
  int max = 1;
  int64_t memory_budget_bytes = 0;  // for tensors on each worker; 0: what it declares
  std::vector<NamedWorkerProfile> profiles;
};

struct JobSpec {
  std::string display_name = "job";
  LlamaSpec model;  // becomes a variant when there is a second family
  DataSpec data;
  MaskingSpec masking;
  AveragingSpec averaging;
  OptimizerSpec optimizer;
  BatchSpec batch;
  int64_t stop_steps = 0;  // exactly one of the two is positive
  int64_t stop_tokens = 0;
  EvaluationSpec evaluation;
  WorkersSpec workers;
  std::string output_directory;
  uint64_t seed = 0;

  // Tokens that one step consumes over all workers.
  int64_t tokens_per_step() const { return static_cast<int64_t>(batch.global_sequences) * model.seq_len; }
  // Optimizer steps of the whole job: stop_steps, or the fewest steps that reach stop_tokens.
  int64_t total_steps() const {
    return stop_steps > 0 ? stop_steps : (stop_tokens + tokens_per_step() - 1) / tokens_per_step();
  }
};

// Learning rate of step `step` (from 0): linear warm-up to the peak over warmup_steps, then half a cosine
// down to final_ratio of the peak at the last of `total_steps` steps.
double LearningRate(const OptimizerSpec& optimizer, int64_t step, int64_t total_steps);

}  // namespace sdp
