#include "coordinator/planning/fit_ratio.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/types/optional.h"
#include "common/base/quantities.h"
#include "coordinator/planning/job_problem.h"
#include "coordinator/planning/make_plan.h"

namespace sdp {
namespace {

// Tries ratios one by one and remembers what it found.
class RatioSearch {
 public:
  RatioSearch(JobSpec spec, const ParameterTable& table, std::vector<PlanMember> members)
      : spec_(std::move(spec)), table_(table), members_(std::move(members)) {}

  bool Fits(int holders) {
    spec_.masking.active_ratio = static_cast<double>(holders) / static_cast<double>(members_.size());
    RatioFit fit;
    fit.active_ratio = spec_.masking.active_ratio;
    PlanAttempt attempt = TryPlan(spec_, table_, members_, Epoch(1), /*first_step=*/0);
    const bool fits = attempt.plan.ok();
    if (!fits) fit.reason = std::string(attempt.plan.status().message());
    if (fits || attempt.without_budgets) {
      const Plan& plan = fits ? *attempt.plan : *attempt.without_budgets;
      fit.peak_memory_bytes = LargestMemory(plan);
      fit.gap = plan.summary.spectral_gap;
    }
    fits_.push_back(std::move(fit));
    if (fits) best_ = FittingPlan{spec_, *std::move(attempt.plan)};
    return fits;
  }

  absl::optional<FittingPlan>& best() { return best_; }

  std::vector<RatioFit> TakeFits() {
    std::sort(fits_.begin(), fits_.end(),
              [](const RatioFit& a, const RatioFit& b) { return a.active_ratio > b.active_ratio; });
    return std::move(fits_);
  }

 private:
  JobSpec spec_;
  const ParameterTable& table_;
  std::vector<PlanMember> members_;
  absl::optional<FittingPlan> best_;  // of the largest ratio that fits so far
  std::vector<RatioFit> fits_;
};

absl::Status NoneFits(const std::vector<RatioFit>& fits, int64_t bytes) {
  const RatioFit* smallest = nullptr;
  for (const RatioFit& fit : fits) {
    if (fit.peak_memory_bytes == 0) continue;
    if (smallest == nullptr || fit.peak_memory_bytes < smallest->peak_memory_bytes) smallest = &fit;
  }
  std::string reason = absl::StrCat("no masking.active_ratio of whole holders (k / workers) fits into ",
                                    FormatBytes(static_cast<double>(bytes)), " on every worker");
  if (smallest == nullptr) return absl::FailedPreconditionError(absl::StrCat(reason, ": ", fits[0].reason));
  return absl::FailedPreconditionError(absl::StrCat(
      reason, "; the least that does is ", FormatBytesUp(static_cast<double>(smallest->peak_memory_bytes)),
      " with active_ratio ", smallest->active_ratio,
      ". Smaller micro-batches (batch.micro_sequences) or more workers need less"));
}

}  // namespace

absl::StatusOr<FittingPlan> FitRatio(JobSpec spec, const ParameterTable& table,
                                     std::vector<PlanMember> members, int64_t bytes,
                                     std::vector<RatioFit>* fits) {
  if (spec.masking.generator == MaskGenerator::kExplicit || spec.masking.generator == MaskGenerator::kFull) {
    return absl::InvalidArgumentError(
        "fit_memory_bytes: which active_ratio fits is a question for the generators balanced, random and "
        "cyclic: the explicit and full ones have no ratio to choose");
  }
  constexpr int kTryAll = 16;
  const int workers = static_cast<int>(members.size());
  spec.workers.memory_budget_bytes = SmallerBudget(spec.workers.memory_budget_bytes, bytes);
  RatioSearch search(std::move(spec), table, std::move(members));
  if (workers <= kTryAll) {
    for (int holders = workers; holders > 0 && !search.Fits(holders);) --holders;
  } else if (!search.Fits(workers)) {
    int fitting = 0, too_many = workers;
    while (too_many - fitting > 1) {
      const int middle = fitting + (too_many - fitting) / 2;
      (search.Fits(middle) ? fitting : too_many) = middle;
    }
  }
  *fits = search.TakeFits();
  if (!search.best()) return NoneFits(*fits, bytes);
  return *std::move(search.best());
}

}  // namespace sdp
