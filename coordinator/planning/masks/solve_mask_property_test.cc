#include <algorithm>
#include <numeric>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "coordinator/planning/masks/mask_problem.h"
#include "coordinator/planning/masks/test_problems.h"
#include "coordinator/planning/spectrum/mask_graph.h"
#include "gtest/gtest.h"
#include "rapidcheck/gtest.h"

namespace sdp {
namespace {

// Uniform in [begin, end), from the first case on: rapidcheck would begin with small values only.
rc::Gen<int> Between(int begin, int end) {
  return rc::gen::resize(rc::kNominalSize, rc::gen::inRange(begin, end));
}

// A problem of up to 6 workers and 8 components, with every feature in some of them; often without a
// solution.
MaskProblem AnyProblem() {
  MaskProblem problem;
  const bool unequal = *Between(0, 2) == 0;
  const int columns = *Between(1, 9);
  for (int b = 0; b < columns; ++b) {
    problem.components.emplace_back();
    if (unequal) problem.components[b].size = *Between(1, 20);
  }
  const int workers = *Between(1, 7);
  const bool limited = *Between(0, 2) == 0;
  for (int i = 0; i < workers; ++i) {
    problem.workers.emplace_back();
    problem.workers[i].name = absl::StrCat("worker-", i);
    if (limited) problem.workers[i].profile.memory_budget_bytes = *Between(100, 3000);
    if (*Between(0, 4) == 0) problem.workers[i].profile.relative_speed = *Between(1, 5);
  }
  problem.shared_memory_bytes = *Between(0, 200);
  problem.shared_size = *Between(0, 20);
  problem.holders = *Between(0, 4);
  problem.active_ratio = *Between(1, 101) / 100.0;
  problem.equal_samples = *Between(0, 2) == 0;
  if (*Between(0, 3) == 0) problem.max_holder_sets = *Between(1, 9);
  problem.allow_disconnected = *Between(0, 4) == 0;
  problem.generator = *rc::gen::element(MaskGenerator::kBalanced, MaskGenerator::kBalanced,
                                        MaskGenerator::kRandom, MaskGenerator::kCyclic, MaskGenerator::kFull);
  problem.seed = *rc::gen::arbitrary<uint64_t>();
  return problem;
}

void AssertValid(const MaskProblem& problem, const MaskSolution& solution) {
  const Mask& mask = solution.mask;
  RC_ASSERT(mask.workers() == static_cast<int>(problem.workers.size()));
  RC_ASSERT(mask.columns() == static_cast<int>(problem.components.size()));
  for (Rank i = 0; i < mask.workers(); ++i) {
    RC_ASSERT(mask.Held(i) > 0);
    const int64_t budget = problem.workers[i].profile.memory_budget_bytes;
    RC_ASSERT(budget == 0 || solution.memory_bytes[i] <= budget);
  }
  RC_ASSERT(solution.coverage_minimum >= 1);
  RC_ASSERT(problem.allow_disconnected || solution.gap > 0);
  RC_ASSERT(solution.gap <= solution.gap_bound + 1e-9);
  RC_ASSERT(problem.max_holder_sets == 0 || solution.holder_sets <= problem.max_holder_sets);
  if (problem.holders == 0 || problem.generator == MaskGenerator::kFull) return;
  for (int b = 0; b < mask.columns(); ++b) {
    // Repairs of random draws may shift a holder from one component to another.
    if (problem.generator == MaskGenerator::kRandom) continue;
    RC_ASSERT(static_cast<int>(mask.Holders(b).size()) == problem.holders);
  }
}

RC_GTEST_PROP(SolveMaskPropertyTest, GivesAValidMaskOrAReason, ()) {
  const MaskProblem problem = AnyProblem();
  const absl::StatusOr<MaskSolution> solution = SolveMask(problem);
  RC_CLASSIFY(solution.ok(), "solved");
  if (solution.ok()) {
    AssertValid(problem, *solution);
    return;
  }
  RC_ASSERT(solution.status().code() == absl::StatusCode::kFailedPrecondition);
  RC_ASSERT(!solution.status().message().empty());
}

RC_GTEST_PROP(SolveMaskPropertyTest, SameProblemGivesTheSameMask, ()) {
  const MaskProblem problem = AnyProblem();
  const absl::StatusOr<Mask> mask = ChooseMask(problem);
  const absl::StatusOr<Mask> again = ChooseMask(problem);
  RC_ASSERT(mask.ok() == again.ok());
  if (mask.ok()) RC_ASSERT(mask->Rows() == again->Rows());
  if (!mask.ok()) RC_ASSERT(mask.status() == again.status());
}

RC_GTEST_PROP(SolveMaskPropertyTest, PermutingWorkersPermutesTheMask, ()) {
  const MaskProblem problem = AnyProblem();
  std::vector<Rank> order(problem.workers.size());
  std::iota(order.begin(), order.end(), 0);
  for (size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[*Between(0, static_cast<int>(i))]);
  MaskProblem permuted = problem;
  for (size_t i = 0; i < order.size(); ++i) permuted.workers[i] = problem.workers[order[i]];
  const absl::StatusOr<Mask> mask = ChooseMask(problem);
  const absl::StatusOr<Mask> other = ChooseMask(permuted);
  RC_ASSERT(mask.ok() == other.ok());
  if (!mask.ok()) return;
  for (size_t i = 0; i < order.size(); ++i) RC_ASSERT(other->Rows()[i] == mask->Rows()[order[i]]);
}

RC_GTEST_PROP(SolveMaskPropertyTest, ChangesOfMembersMoveAtLeastTheBoundAndStayValid, ()) {
  MaskProblem problem = AnyProblem();
  problem.generator = MaskGenerator::kBalanced;
  const absl::StatusOr<MaskSolution> before = SolveMask(problem);
  if (!before.ok()) return;
  std::vector<Rank> gone;
  for (Rank i = 0; i < before->mask.workers(); ++i) {
    if (*Between(0, 5) == 0) gone.push_back(i);
  }
  MaskProblem changed = Changed(problem, before->mask, gone, *Between(0, 3));
  if (changed.workers.empty()) return;
  const absl::StatusOr<MaskSolution> after = SolveMask(changed);
  RC_CLASSIFY(after.ok(), "solved");
  if (!after.ok()) {
    RC_ASSERT(after.status().code() == absl::StatusCode::kFailedPrecondition);
    return;
  }
  AssertValid(changed, *after);
  // Nothing comes from nobody: whatever is new somewhere is held by someone who stays.
  for (Rank i = 0; i < after->mask.workers(); ++i) {
    for (int b = 0; b < after->mask.columns(); ++b) {
      if (!after->mask.holds(i, b)) continue;
      bool source = false;
      for (const MaskWorker& worker : changed.workers) {
        source = source || (worker.previous >= 0 && before->mask.holds(worker.previous, b));
      }
      RC_ASSERT(source);
    }
  }
}

}  // namespace
}  // namespace sdp
