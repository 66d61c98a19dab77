#include "coordinator/state/progress.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace sdp::coordinator {
namespace {

// Median of the positive values; 0 when there is none.
double Median(std::vector<double> values) {
  values.erase(std::remove_if(values.begin(), values.end(), [](double v) { return !(v > 0); }), values.end());
  if (values.empty()) return 0;
  auto middle = values.begin() + values.size() / 2;
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

}  // namespace

ProgressTracker::ProgressTracker(const Plan& plan, int64_t total_steps)
    : next_step_(plan.first_step),
      step_seconds_(plan.members.size()),
      averaging_seconds_(plan.members.size()),
      exposed_averaging_seconds_(plan.members.size()) {
  progress_.step = plan.first_step;
  progress_.total_steps = total_steps;
  for (const PlanMember& member : plan.members) {
    WorkerProgress worker;
    worker.worker = member.worker;
    worker.step = plan.first_step;
    progress_.workers.push_back(worker);
  }
}

void ProgressTracker::Start(absl::Time now) { samples_ = {Sample{now, progress_.tokens, next_step_}}; }

ProgressTracker::Update ProgressTracker::Add(Rank rank, const StepReport& report, absl::Time now) {
  Update update;
  WorkerProgress& worker = progress_.workers[rank];
  update.moved = worker.step != report.committed_steps || worker.phase != report.phase;
  worker.step = report.committed_steps;
  worker.phase = report.phase;
  worker.phase_seconds = report.phase_seconds;
  worker.peak_tensor_bytes = report.peak_tensor_bytes;
  worker.tensor_bytes = report.tensor_bytes;
  worker.resident_bytes = report.resident_bytes;
  worker.bytes_sent = report.bytes_sent;
  worker.bytes_received = report.bytes_received;
  step_seconds_[rank] = report.step_seconds;
  averaging_seconds_[rank] = report.averaging_seconds;
  exposed_averaging_seconds_[rank] = report.exposed_averaging_seconds;
  progress_.step = std::max(progress_.step, report.committed_steps);
  if (rank == 0) {
    AddSteps(report.steps, &update);
    UpdateRates(now);
  }
  UpdateSums();
  return update;
}

void ProgressTracker::SetCommitted(Rank rank, int64_t committed_steps) {
  WorkerProgress& worker = progress_.workers[rank];
  worker.step = std::max(worker.step, committed_steps);
  progress_.step = std::max(progress_.step, committed_steps);
}

void ProgressTracker::AddSteps(const std::vector<CommittedStep>& steps, Update* update) {
  for (const CommittedStep& step : steps) {
    if (step.step < next_step_) continue;
    next_step_ = step.step + 1;
    progress_.learning_rate = step.learning_rate;
    if (step.skipped) {
      ++progress_.skipped_steps;
      ++consecutive_skipped_;
      update->skipped.push_back(step.step);
      continue;  // nothing was trained, and its loss and norm are no numbers to show
    }
    consecutive_skipped_ = 0;
    progress_.loss = step.loss;
    progress_.gradient_norm = step.gradient_norm;
    progress_.tokens += step.tokens;
  }
}

void ProgressTracker::UpdateRates(absl::Time now) {
  samples_.push_back(Sample{now, progress_.tokens, next_step_});
  // The oldest sample stays at or just beyond the window's edge.
  while (samples_.size() > 2 && now - samples_[1].time >= kRateWindow) samples_.pop_front();
  const Sample& first = samples_.front();
  const double seconds = absl::ToDoubleSeconds(now - first.time);
  if (seconds <= 0) return;
  progress_.tokens_per_second = static_cast<double>(progress_.tokens - first.tokens) / seconds;
  const double steps_per_second = static_cast<double>(next_step_ - first.steps) / seconds;
  const int64_t steps_left = std::max<int64_t>(progress_.total_steps - next_step_, 0);
  progress_.eta_seconds = steps_per_second > 0 ? static_cast<double>(steps_left) / steps_per_second : 0;
}

void ProgressTracker::UpdateSums() {
  progress_.step_seconds = Median(step_seconds_);
  progress_.peak_tensor_bytes = 0;
  double bytes_per_step = 0;
  int workers_with_steps = 0;
  for (const WorkerProgress& worker : progress_.workers) {
    progress_.peak_tensor_bytes = std::max(progress_.peak_tensor_bytes, worker.peak_tensor_bytes);
    if (worker.step <= 0) continue;
    bytes_per_step += static_cast<double>(worker.bytes_sent) / static_cast<double>(worker.step);
    ++workers_with_steps;
  }
  progress_.bytes_per_step = workers_with_steps > 0 ? bytes_per_step / workers_with_steps : 0;
  const double averaging = std::accumulate(averaging_seconds_.begin(), averaging_seconds_.end(), 0.0);
  const double exposed =
      std::accumulate(exposed_averaging_seconds_.begin(), exposed_averaging_seconds_.end(), 0.0);
  progress_.hidden_averaging_ratio = averaging > 0 ? std::clamp(1.0 - exposed / averaging, 0.0, 1.0) : 0;
}

}  // namespace sdp::coordinator
