#include "coordinator/service/plan_translate.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/wire/enum_maps.h"
#include "common/wire/field_checks.h"

namespace sdp::coordinator {
namespace {

PlanMember PlannedMember(size_t index, const WorkerProfile& profile) {
  PlanMember member;
  member.worker = WorkerName(absl::StrCat("worker-", index));
  member.profile = profile;
  return member;
}

std::vector<PlanMember> EqualMembers(int count) {
  std::vector<PlanMember> members;
  for (int i = 0; i < count; ++i) members.push_back(PlannedMember(members.size(), {}));
  return members;
}

std::vector<PlanMember> GroupMembers(const v1::PlanJobRequest& request, FieldChecks& checks) {
  std::vector<PlanMember> members;
  for (int i = 0; i < request.worker_groups_size(); ++i) {
    const v1::WorkerGroup& group = request.worker_groups(i);
    const std::string field = absl::StrCat("worker_groups[", i, "]");
    const int64_t count = checks.Required(field + ".count", group.count(), 1, kMaxPlannedWorkers);
    WorkerProfile profile;
    profile.memory_budget_bytes =
        checks.AtLeast(field + ".memory_budget_bytes", group.memory_budget_bytes(), 0);
    profile.relative_speed = checks.RelativeSpeed(field + ".relative_speed", group.relative_speed(), 1.0);
    for (int64_t n = 0; n < count && members.size() <= kMaxPlannedWorkers; ++n) {
      members.push_back(PlannedMember(members.size(), profile));
    }
  }
  return members;
}

std::vector<PlanMember> MembersFromProto(const v1::PlanJobRequest& request, const JobSpec& spec,
                                         FieldChecks& checks) {
  const int ways = (request.workers() != 0 ? 1 : 0) + (request.worker_groups_size() > 0 ? 1 : 0) +
                   (request.live_workers() ? 1 : 0);
  if (ways > 1) checks.Add("workers", "only one of workers, worker_groups and live_workers can be given");
  if (request.live_workers()) return {};
  std::vector<PlanMember> members;
  if (request.worker_groups_size() > 0) {
    members = GroupMembers(request, checks);
  } else {
    const int64_t count =
        checks.OrDefault("workers", request.workers(), spec.workers.max, 1, kMaxPlannedWorkers);
    // A number that is refused may be too large to make members for.
    members = EqualMembers(static_cast<int>(std::min<int64_t>(count, kMaxPlannedWorkers)));
  }
  if (members.size() > kMaxPlannedWorkers) {
    checks.Add("worker_groups", absl::StrCat("have more than ", kMaxPlannedWorkers, " workers together"));
  }
  return members;
}

double Rate(const std::string& field, double value, FieldChecks& checks) {
  // Bounds that no device comes near, and that keep predicted times finite.
  constexpr double kLeast = 1, kMost = 1e30;
  return checks.Finite(
      field, value, [](double rate) { return rate == 0 || (rate >= kLeast && rate <= kMost); },
      absl::StrCat("from ", kLeast, " to ", kMost, ", or 0 when it is unknown"));
}

v1::MaskSchedule ScheduleToProto(const DryRun& run) {
  v1::MaskSchedule proto;
  for (const ScheduleEntry& entry : run.schedule->entries) {
    v1::ScheduleEntry* out = proto.add_entries();
    out->set_from_step(entry.from_step);
    for (const std::string& row : entry.mask.Rows()) out->add_mask(row);
    out->set_spectral_gap(entry.gap);
    out->set_moved_bytes(entry.moved_bytes);
    out->set_moved_bytes_lower_bound(entry.moved_bytes_lower_bound);
  }
  proto.set_mean_gap(run.schedule->spectrum.mean_gap);
  proto.set_product_gap(run.schedule->spectrum.product_gap);
  proto.set_total_entries(run.total_schedule_entries);
  return proto;
}

v1::MaskChange ChangeToProto(const MaskChange& change) {
  v1::MaskChange proto;
  *proto.mutable_plan() = PlanToProto(change.plan);
  proto.set_moved_bytes(change.moved_bytes);
  proto.set_moved_bytes_lower_bound(change.moved_bytes_lower_bound);
  proto.set_fresh_spectral_gap(change.fresh_gap);
  return proto;
}

// The spec with the request's number of workers as its own: what it says of theirs is not what is asked.
v1::JobSpec SpecForItsWorkers(const v1::PlanJobRequest& request) {
  v1::JobSpec spec = request.spec();
  int64_t workers = request.workers();
  for (const v1::WorkerGroup& group : request.worker_groups()) workers += group.count();
  if (workers >= 1 && workers <= kMaxPlannedWorkers) {
    spec.mutable_workers()->set_min(static_cast<int>(workers));
    spec.mutable_workers()->set_max(static_cast<int>(workers));
  }
  return spec;
}

}  // namespace

DryRunQuestion QuestionFromProto(const v1::PlanJobRequest& request, std::vector<SpecProblem>& problems) {
  DryRunQuestion question;
  problems = ValidateSpec(SpecForItsWorkers(request), &question.spec);
  FieldChecks checks;
  question.members = MembersFromProto(request, question.spec, checks);
  const v1::DeviceProfile& device = request.device();
  question.device.flops_per_second = Rate("device.flops_per_second", device.flops_per_second(), checks);
  question.device.link_bytes_per_second =
      Rate("device.link_bytes_per_second", device.link_bytes_per_second(), checks);
  question.device.nccl = device.nccl();
  question.fit_memory_bytes = checks.AtLeast("fit_memory_bytes", request.fit_memory_bytes(), 0);
  for (int i = 0; i < request.compare_size(); ++i) {
    const std::string field = absl::StrCat("compare[", i, "]");
    const MaskGenerator generator = checks.Known(field, kMaskGenerators, request.compare(i));
    std::vector<MaskGenerator>& compare = question.compare;
    if (!checks.Wrong(field) && std::find(compare.begin(), compare.end(), generator) != compare.end()) {
      checks.Add(field, "is there already; each generator can be compared once");
    }
    compare.push_back(generator);
  }
  question.redraw_every_steps =
      static_cast<int>(checks.AtLeast("redraw_every_steps", request.redraw_every_steps(), 0));
  question.change_to_workers = static_cast<int>(
      checks.InRange("change_to_workers", request.change_to_workers(), 0, kMaxPlannedWorkers));
  problems.insert(problems.end(), checks.problems().begin(), checks.problems().end());
  return question;
}

v1::PlanJobResponse AnswerToProto(const DryRun& run) {
  v1::PlanJobResponse proto;
  *proto.mutable_plan() = PlanToProto(run.plan);
  for (const RatioFit& fit : run.fits) {
    v1::RatioFit* out = proto.add_fits();
    out->set_active_ratio(fit.active_ratio);
    out->set_fits(fit.reason.empty());
    out->set_peak_memory_bytes(fit.peak_memory_bytes);
    out->set_spectral_gap(fit.gap);
    out->set_reason(fit.reason);
  }
  for (const ComparedPlan& compared : run.compared) {
    v1::ComparedPlan* out = proto.add_compared();
    out->set_generator(ToWire(kMaskGenerators, compared.generator));
    if (compared.plan) *out->mutable_plan() = PlanToProto(*compared.plan);
    out->set_reason(compared.reason);
  }
  if (run.schedule) *proto.mutable_schedule() = ScheduleToProto(run);
  if (run.change) *proto.mutable_change() = ChangeToProto(*run.change);
  return proto;
}

}  // namespace sdp::coordinator
