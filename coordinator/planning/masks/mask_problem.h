// The general planning question: which worker holds which component, for unequal components and unequal
// workers, from nothing or from a mask that is there.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/base/ids.h"
#include "common/model/job_spec.h"
#include "common/model/mask.h"
#include "common/model/plan.h"

namespace sdp {

// What moves when a component comes to a worker that did not hold it: parameters and the two moments,
// float32.
inline constexpr double kStateBytesPerParameter = 12;
// What a held parameter takes in memory at least: the same and the gradient.
inline constexpr int64_t kHeldBytesPerParameter = 16;

struct MaskComponent {
  std::string name;  // for messages; empty: named by its column
  double size = 1;   // in parameters, positive: its weight in gap and masking error
  // What each worker that holds it needs for it, in bytes; 0: kHeldBytesPerParameter for each parameter.
  int64_t memory_bytes = 0;
  // Time of one sequence on a worker of speed 1, in any unit; 0: in proportion to the size.
  double time = 0;
  // Components of one layer are slices of it: groups of neurons, heads or channels (N-SDP). -1: a block,
  // which is a slice of nothing (B-SDP).
  int layer = -1;
};

struct MaskWorker {
  std::string name;  // for messages, and to tell equal workers apart; empty: by rank
  WorkerProfile profile;
  // What it needs beside its components and the shared ones: activations, workspace.
  int64_t other_memory_bytes = 0;
  Rank previous = -1;  // its rank in the previous mask; -1: it is new
};

struct MaskProblem {
  std::vector<MaskComponent> components;  // by column
  std::vector<MaskWorker> workers;        // by rank
  // What every worker holds besides.
  double shared_size = 0;
  int64_t shared_memory_bytes = 0;

  // Holders of each component; 0: by active_ratio. That stands for k / workers when it gives a whole k, and
  // for the share of the components' size that a worker holds on average otherwise.
  int holders = 0;
  double active_ratio = 1;
  // Different holder sets of components, each a communicator; 0: no limit for blocks, and as many as workers
  // for slices of layers, of which there are far more.
  int max_holder_sets = 0;

  MaskGenerator generator = MaskGenerator::kBalanced;
  std::vector<std::vector<bool>> matrix;  // for kExplicit, by rank and column
  bool allow_disconnected = false;
  uint64_t seed = 0;
  // Loads follow the relative speeds: for steps in which all workers get equally many sequences. Otherwise
  // they follow the memory budgets alone, and SplitSequences evens out the step times.
  bool equal_samples = false;

  // The mask in force, from which as little as possible is to be moved; no columns: none. For kBalanced only.
  Mask previous;
};

struct MaskSolution {
  Mask mask;
  double gap = 0;
  double gap_bound = 0;
  double gap_with_shared = 0;
  double masking_error = 0;
  int coverage_minimum = 0;
  int holder_sets = 0;
  std::vector<int64_t> memory_bytes;  // by rank: what it holds, shared components and the rest included
  double memory_imbalance = 0;        // of the maskable components' bytes: the largest divided by the mean
  // With a previous mask: what workers must receive, the least that any mask with as many holders and as
  // balanced needs, and the gap of a mask made from nothing.
  double moved_bytes = 0;
  double moved_bytes_lower_bound = 0;
  double fresh_gap = 0;
  std::vector<std::string> reasons;  // why the mask is what it is, in plain words
};

// The mask for `problem`. Permuting the workers permutes the rows of the mask, provided that equal workers
// have different names. The same problem gives the same mask on every machine.
//
// INVALID_ARGUMENT: a problem without components or workers, or with a size, speed or number out of range.
// FAILED_PRECONDITION: no mask, and why, and what would be possible: too few holdings, more workers than the
// model can use, a memory budget that does not fit (which worker, which component, by how much), too few
// holder sets, a matrix of another size, with an empty row or column or disconnected, a component that
// nobody who stays holds.
absl::StatusOr<MaskSolution> SolveMask(const MaskProblem& problem);

// The mask of SolveMask alone, without judging it: for those who summarise the whole plan anyway. Adds to
// `reasons` why it is so.
absl::StatusOr<Mask> ChooseMask(const MaskProblem& problem, std::vector<std::string>* reasons = nullptr);

}  // namespace sdp
