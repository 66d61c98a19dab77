#include "coordinator/planning/memory_model.h"

#include <algorithm>
#include <limits>
#include <vector>

#include "common/model/micro_batches.h"

namespace sdp {
namespace {

constexpr int64_t kFloatBytes = 4;
// Scalars of the loss and of single operations, of 4 to 8 bytes each.
constexpr int64_t kScalarBytes = 256;
// What a part of a prediction is at most: more than any machine has, and sums of parts do not overflow.
constexpr double kMostBytes = int64_t{1} << 60;

// Scratch of LibTorch's fused attention on the CPU, in floats: each thread has a tile of queries x keys.
struct AttentionScratch {
  AttentionScratch(const LlamaSpec& model, int threads) {
    const int64_t tokens = model.seq_len;
    const int64_t queries = std::min<int64_t>(tokens >= 768 ? 256 : tokens >= 192 ? 64 : 32, tokens);
    const int64_t keys = std::min<int64_t>(512, tokens);
    // Scores, maximum and sum of each query, weighted values.
    forward = threads * queries * (keys + 2 + model.head_dim());
    // Weights and their gradients, and for each query the sum of both's products.
    backward = threads * queries * (2 * keys + 1);
  }

  int64_t forward = 0;
  int64_t backward = 0;
};

// Bytes at one instant of a pass, beside those that live from step to step.
struct Instant {
  int64_t activations = 0;
  int64_t logits = 0;
  int64_t workspace = 0;

  int64_t total() const { return activations + logits + workspace; }
};

// One pass over `rows` sequences. What operations allocate is written in floats: h, k, f and v are one
// token's values of the residual stream, of keys or values, of the feed-forward layer and of the logits; n
// tokens run at once. They are floating-point numbers, since the largest models and batches that a spec can
// name overflow 64 bits. Products of two of h, k, f and v are gradients of weights, which exist for as long
// as it takes to add them to the bucket's.
class LlamaPass {
 public:
  LlamaPass(const LlamaSpec& model, int rows, int threads)
      : tied_(model.tied_embeddings),
        n_(static_cast<double>(rows) * model.seq_len),
        h_(model.hidden),
        k_(static_cast<double>(model.kv_heads) * model.head_dim()),
        f_(model.ffn),
        v_(model.vocab),
        heads_(model.heads),
        scratch_(model, threads) {}

  // The largest instant of a forward and backward pass through `blocks` blocks. All of a pass's memory peaks
  // lie around the turn from forward to backward and in the last block, where most activations are alive, but
  // for the gradient of the embedding, which can be larger than any activation.
  Instant Training(int blocks) const {
    std::vector<Instant> instants = HeadInstants(blocks);
    if (blocks > 0) {
      for (const Instant& instant : LastBlockInstants(blocks)) instants.push_back(instant);
    }
    // The look-up's gradient is as dense as the weight, beside that of the embedding's output. When the
    // embedding is the output weight too, the head's gradient has been waiting for it, and their sum is a
    // third tensor.
    const double weight = v_ * h_;
    const double gradients = tied_ ? std::max(2 * weight + n_ * h_, 3 * weight) : weight + n_ * h_;
    instants.push_back(Make(0, 0, gradients));
    return Largest(instants);
  }

  // The largest instant of a pass without gradients, beside its hidden states.
  Instant Evaluation() const {
    const double block = std::max({
        5 * h_ + 3 * k_,  // rotating the queries: norm, q, k, v, rotated k, three tensors of the rotation
        3 * h_ + 4 * f_,  // both norms, the sum of attention and residual; gate, SiLU, up, their product
        5 * h_ + f_,      // the same without gate and up; the product's projection and its sum
    });
    const double attention = n_ * (4 * h_ + 3 * k_ + heads_) + scratch_.forward;
    return Largest({
        Make(0, 0, std::max(n_ * block, attention)),
        Make(0, n_ * 2 * v_, 0),        // logits, and logarithms of the softmax
        Make(0, n_ * v_, n_ * h_),      // the norm's output, logits
        Make(0, 0, n_ * (2 * h_ + 2)),  // norm
    });
  }

 private:
  static Instant Make(double activations, double logits, double workspace) {
    const auto bytes = [](double floats) {
      return static_cast<int64_t>(std::min(kFloatBytes * floats, kMostBytes));
    };
    return {bytes(activations), bytes(logits), bytes(workspace) + kScalarBytes};
  }

  static Instant Largest(const std::vector<Instant>& instants) {
    return *std::max_element(instants.begin(), instants.end(),
                             [](const Instant& a, const Instant& b) { return a.total() < b.total(); });
  }

  // What a norm keeps beside its input and output: the inverse root and the normalised input.
  double NormKeeps() const { return h_ + 1; }

  // What attention keeps of one token: the norm and its output, rotated queries and keys, values, its output
  // (laid out so that its heads join without a copy), and the logarithm of each head's sum.
  double AttentionKeeps() const { return NormKeeps() + 3 * h_ + 2 * k_ + heads_; }

  // What a block keeps of one token, its output included: attention, its sum with the residual, the second
  // norm and its output, gate, SiLU, up and their product.
  double BlockKeeps() const { return AttentionKeeps() + h_ + NormKeeps() + h_ + 4 * f_ + h_; }

  // Activations below the head: the embedding's output and `blocks` blocks.
  double Below(int blocks) const { return h_ + blocks * BlockKeeps(); }

  // From the forward pass's end into the head's backward pass.
  std::vector<Instant> HeadInstants(int blocks) const {
    const double norm = NormKeeps() + h_;
    const double below = Below(blocks);
    return {
        // The loss turns: logarithms of the softmax, their gradient, and the gradient of the logits. (At the
        // end of the forward pass there are only two of the three.)
        Make(n_ * (below + norm), n_ * 3 * v_, 0),
        // The output projection turns: gradients of the logits, of the projection's input and its weight.
        Make(n_ * (below + norm), n_ * v_, n_ * h_ + v_ * h_),
        // The norm turns, element-wise with five tensors of its size in flight.
        Make(n_ * below, 0, n_ * (5 * h_ + 2) + h_),
    };
  }

  // The last held block: its largest instants forward and backward. `below` ends with the block's output,
  // whose place the gradient takes.
  std::vector<Instant> LastBlockInstants(int blocks) const {
    const double below = Below(blocks);
    const double before = Below(blocks - 1);
    const double waiting = tied_ ? v_ * h_ : 0;  // the head's part of the embedding's gradient
    return {
        // Forward, the fused attention with unrotated queries and keys; then the output projection in its
        // scratch's place.
        Make(n_ * (before + AttentionKeeps()), 0, n_ * (h_ + k_) + scratch_.forward),
        Make(n_ * (before + AttentionKeeps()), 0, n_ * (2 * h_ + k_)),
        // Forward, the feed-forward layer's sum with the residual.
        Make(n_ * below, 0, n_ * h_),
        // The down projection turns: gradients of its input and weight.
        Make(n_ * below, 0, n_ * f_ + h_ * f_ + waiting),
        // The product of SiLU and up turns: gradients of both beside its own, whose place is the product's.
        Make(n_ * below, 0, n_ * 2 * f_ + waiting),
        // The up projection turns: the product, SiLU and up have gone; two gradients wait.
        Make(n_ * (below - f_), 0, n_ * h_ + h_ * f_ + waiting),
        // The gate projection turns: only its gradient is left of the four.
        Make(n_ * (below - 3 * f_), 0, n_ * 2 * h_ + h_ * f_ + waiting),
        // The second norm turns.
        Make(n_ * (below - 4 * f_), 0, n_ * (2 * h_ + 2) + h_ + waiting),
        // Attention's projection turns: its sum's place is taken by the gradient.
        Make(n_ * (before + AttentionKeeps() + h_), 0, n_ * h_ + h_ * h_ + waiting),
        // The fused attention turns: gradients of its output, queries, keys and values.
        Make(n_ * (before + AttentionKeeps() + h_), 0, n_ * (2 * h_ + 2 * k_) + scratch_.backward + waiting),
    };
  }

  const bool tied_;
  const double n_, h_, k_, f_, v_, heads_;
  const AttentionScratch scratch_;
};

// Elements of the buffers that an evaluation receives components into: they take turns at two, each made when
// the first component that not everyone holds comes to it.
int64_t ReceivedElements(const ParameterTable& table, const Plan& plan) {
  int64_t largest = 0;
  bool used[2] = {false, false};
  for (size_t i = 0; i < table.components.size(); ++i) {
    const Component& component = table.components[i];
    if (component.shared()) continue;
    if (static_cast<int>(plan.mask.Holders(component.mask_column).size()) == plan.world_size()) continue;
    largest = std::max(largest, component.elements);
    used[i % 2] = true;
  }
  return largest * (static_cast<int>(used[0]) + static_cast<int>(used[1]));
}

// The number of validation sequences is not known here; the spec may bound it.
MemoryInputs EvaluationInputs(const JobSpec& spec, const ParameterTable& table, const Plan& plan) {
  if (spec.data.validation_shards.empty()) return {};
  const EvaluationRows rows = ChooseEvaluationRows(spec, table, plan);
  int most = std::numeric_limits<int>::max();  // of any rank
  if (spec.evaluation.max_sequences > 0) {
    most = (spec.evaluation.max_sequences + plan.world_size() - 1) / plan.world_size();
  }
  MemoryInputs inputs;
  inputs.evaluation_rows = std::min(rows.batch, most);
  inputs.evaluation_kept_rows = std::min(rows.chunk, most);
  inputs.received_elements = ReceivedElements(table, plan);
  return inputs;
}

}  // namespace

std::vector<MemoryInputs> MakeMemoryInputs(const JobSpec& spec, const ParameterTable& table,
                                           const Plan& plan) {
  std::vector<MemoryInputs> by_rank(plan.members.size(), EvaluationInputs(spec, table, plan));
  for (Rank rank = 0; rank < plan.world_size(); ++rank) {
    MemoryInputs& inputs = by_rank[rank];
    if (plan.members[rank].profile.threads > 0) inputs.threads = plan.members[rank].profile.threads;
    inputs.rows = MicroBatch(spec, plan.members[rank].sequences);
    for (const Component& component : table.components) {
      if (!plan.Holds(rank, component)) continue;
      inputs.elements += component.elements;
      if (!component.shared()) ++inputs.blocks;
    }
  }
  return by_rank;
}

int BlocksThatFit(const LlamaSpec& model, int64_t block_elements, MemoryInputs inputs, int64_t limit) {
  // Unless everyone holds everything, an evaluation receives blocks.
  if (inputs.evaluation_rows > 0) inputs.received_elements = 2 * block_elements;
  while (PredictMemory(model, inputs).total() > limit) {
    if (--inputs.blocks < 0) return -1;
    inputs.elements -= block_elements;
  }
  return inputs.blocks;
}

WorkerMemory PredictMemory(const LlamaSpec& model, const MemoryInputs& inputs) {
  WorkerMemory memory;
  memory.parameters = kFloatBytes * inputs.elements;
  memory.gradients = memory.parameters;  // also what averages of parameters are made in
  memory.moments = 2 * memory.parameters;
  // Cosines and sines of each position.
  memory.buffers = 2 * kFloatBytes * model.seq_len * model.head_dim();

  Instant peak;
  int64_t received = 0;
  if (inputs.rows > 0) peak = LlamaPass(model, inputs.rows, inputs.threads).Training(inputs.blocks);
  if (inputs.evaluation_rows > 0) {
    Instant evaluation = LlamaPass(model, inputs.evaluation_rows, inputs.threads).Evaluation();
    const double kept = static_cast<double>(inputs.evaluation_kept_rows) * model.seq_len * model.hidden;
    evaluation.activations = static_cast<int64_t>(std::min(kFloatBytes * kept, kMostBytes));
    const int64_t buffers = kFloatBytes * inputs.received_elements;
    if (evaluation.total() + buffers > peak.total()) {
      peak = evaluation;
      received = buffers;
    }
  }
  memory.activations = peak.activations;
  memory.logits_and_loss = peak.logits;
  memory.workspace = peak.workspace;
  memory.buffers += received;
  return memory;
}

}  // namespace sdp
