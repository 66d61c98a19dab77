#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "common/wire/wire.h"

namespace sdp {
namespace {

v1::WorkerCost CostToProto(const WorkerCost& cost) {
  v1::WorkerCost proto;
  proto.set_parameters(cost.parameters);
  proto.set_bytes_per_step(cost.bytes_per_step);
  proto.set_flops_per_step(cost.flops_per_step);
  proto.set_peak_memory_bytes(cost.memory.total());
  v1::WorkerMemory* memory = proto.mutable_memory();
  memory->set_parameters(cost.memory.parameters);
  memory->set_gradients(cost.memory.gradients);
  memory->set_moments(cost.memory.moments);
  memory->set_activations(cost.memory.activations);
  memory->set_logits_and_loss(cost.memory.logits_and_loss);
  memory->set_workspace(cost.memory.workspace);
  memory->set_buffers(cost.memory.buffers);
  proto.set_communicators(cost.communicators);
  proto.set_memory_budget_bytes(cost.memory_budget_bytes);
  proto.set_relative_speed(cost.relative_speed);
  proto.set_compute_seconds(cost.compute_seconds);
  proto.set_averaging_seconds(cost.averaging_seconds);
  proto.set_communicator_bytes(cost.communicator_bytes);
  return proto;
}

WorkerCost CostFromProto(const v1::WorkerCost& proto) {
  const v1::WorkerMemory& memory = proto.memory();
  WorkerCost cost;
  cost.parameters = proto.parameters();
  cost.bytes_per_step = proto.bytes_per_step();
  cost.flops_per_step = proto.flops_per_step();
  cost.memory = {memory.parameters(),      memory.gradients(), memory.moments(), memory.activations(),
                 memory.logits_and_loss(), memory.workspace(), memory.buffers()};
  cost.communicators = proto.communicators();
  cost.memory_budget_bytes = proto.memory_budget_bytes();
  cost.relative_speed = proto.relative_speed();
  cost.compute_seconds = proto.compute_seconds();
  cost.averaging_seconds = proto.averaging_seconds();
  cost.communicator_bytes = proto.communicator_bytes();
  return cost;
}

v1::PlanSummary SummaryToProto(const PlanSummary& summary) {
  v1::PlanSummary proto;
  proto.set_active_ratio(summary.active_ratio);
  proto.set_spectral_gap(summary.spectral_gap);
  proto.set_spectral_gap_bound(summary.spectral_gap_bound);
  proto.set_spectral_gap_with_shared(summary.spectral_gap_with_shared);
  proto.set_masking_error(summary.masking_error);
  proto.set_coverage_minimum(summary.coverage_minimum);
  proto.set_imbalance(summary.imbalance);
  proto.set_parameters(summary.parameters);
  proto.set_memory_imbalance(summary.memory_imbalance);
  proto.set_compute_imbalance(summary.compute_imbalance);
  proto.set_component_holder_sets(summary.component_holder_sets);
  proto.set_data_parallel_bytes_per_step(summary.data_parallel_bytes_per_step);
  proto.set_step_seconds_shortest(summary.step_seconds_shortest);
  proto.set_step_seconds_longest(summary.step_seconds_longest);
  for (const std::string& reason : summary.reasons) proto.add_reasons(reason);
  for (const WorkerCost& cost : summary.workers) *proto.add_workers() = CostToProto(cost);
  return proto;
}

PlanSummary SummaryFromProto(const v1::PlanSummary& proto) {
  PlanSummary summary;
  summary.active_ratio = proto.active_ratio();
  summary.spectral_gap = proto.spectral_gap();
  summary.spectral_gap_bound = proto.spectral_gap_bound();
  summary.spectral_gap_with_shared = proto.spectral_gap_with_shared();
  summary.masking_error = proto.masking_error();
  summary.coverage_minimum = proto.coverage_minimum();
  summary.imbalance = proto.imbalance();
  summary.parameters = proto.parameters();
  summary.memory_imbalance = proto.memory_imbalance();
  summary.compute_imbalance = proto.compute_imbalance();
  summary.component_holder_sets = proto.component_holder_sets();
  summary.data_parallel_bytes_per_step = proto.data_parallel_bytes_per_step();
  summary.step_seconds_shortest = proto.step_seconds_shortest();
  summary.step_seconds_longest = proto.step_seconds_longest();
  summary.reasons.assign(proto.reasons().begin(), proto.reasons().end());
  for (const v1::WorkerCost& worker : proto.workers()) summary.workers.push_back(CostFromProto(worker));
  return summary;
}

// Error unless 0 <= value < end.
absl::Status CheckIndex(absl::string_view field, int64_t value, int64_t end) {
  if (value >= 0 && value < end) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(field, ": is ", value, "; must be from 0 to ", end - 1));
}

absl::Status CheckNotNegative(absl::string_view field, int64_t value) {
  if (value >= 0) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(field, ": is ", value, "; must not be negative"));
}

absl::StatusOr<PlanMember> MemberFromProto(const v1::PlanMember& proto, const std::string& field) {
  if (const std::string problem = NameProblem(proto.worker()); !problem.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(field, ".worker: ", problem));
  }
  SDP_RETURN_IF_ERROR(CheckNotNegative(field + ".first_sequence", proto.first_sequence()));
  SDP_RETURN_IF_ERROR(CheckNotNegative(field + ".sequences", proto.sequences()));
  PlanMember member;
  member.worker = WorkerName(proto.worker());
  member.incarnation = Incarnation(proto.incarnation());
  member.data_plane_address = proto.data_plane_address();
  member.first_sequence = proto.first_sequence();
  member.sequences = proto.sequences();
  return member;
}

absl::StatusOr<Bucket> BucketFromProto(const v1::Bucket& proto, const Plan& plan, const std::string& field) {
  SDP_RETURN_IF_ERROR(
      CheckIndex(field + ".holder_set", proto.holder_set(), static_cast<int64_t>(plan.holder_sets.size())));
  SDP_RETURN_IF_ERROR(CheckIndex(field + ".norm_rank", proto.norm_rank(), plan.world_size()));
  SDP_RETURN_IF_ERROR(CheckNotNegative(field + ".elements", proto.elements()));
  for (int i = 0; i < proto.slices_size(); ++i) {
    SDP_RETURN_IF_ERROR(CheckNotNegative(absl::StrCat(field, ".slices[", i, "]"), proto.slices(i)));
  }
  Bucket bucket;
  bucket.holder_set = proto.holder_set();
  bucket.slices.assign(proto.slices().begin(), proto.slices().end());
  bucket.elements = proto.elements();
  bucket.norm_rank = proto.norm_rank();
  return bucket;
}

absl::StatusOr<Mask> MaskFromProto(const v1::Plan& proto) {
  if (proto.mask_size() != proto.members_size()) {
    return absl::InvalidArgumentError(absl::StrCat("mask: has ", proto.mask_size(),
                                                   " rows; must have one for each of ", proto.members_size(),
                                                   " members"));
  }
  absl::StatusOr<Mask> mask = Mask::FromRows({proto.mask().begin(), proto.mask().end()});
  if (!mask.ok()) return absl::InvalidArgumentError(absl::StrCat("mask: ", mask.status().message()));
  return mask;
}

}  // namespace

v1::Plan PlanToProto(const Plan& plan) {
  v1::Plan proto;
  proto.set_epoch(plan.epoch.value());
  for (const PlanMember& member : plan.members) {
    v1::PlanMember* out = proto.add_members();
    out->set_worker(member.worker.value());
    out->set_incarnation(member.incarnation.value());
    out->set_data_plane_address(member.data_plane_address);
    out->set_first_sequence(member.first_sequence);
    out->set_sequences(member.sequences);
  }
  for (const std::string& row : plan.mask.Rows()) proto.add_mask(row);
  for (const std::vector<Rank>& ranks : plan.holder_sets) {
    proto.add_holder_sets()->mutable_ranks()->Add(ranks.begin(), ranks.end());
  }
  for (const Bucket& bucket : plan.buckets) {
    v1::Bucket* out = proto.add_buckets();
    out->set_holder_set(bucket.holder_set);
    out->mutable_slices()->Add(bucket.slices.begin(), bucket.slices.end());
    out->set_elements(bucket.elements);
    out->set_norm_rank(bucket.norm_rank);
  }
  proto.set_first_step(plan.first_step);
  proto.set_digest(plan.digest);
  *proto.mutable_summary() = SummaryToProto(plan.summary);
  return proto;
}

absl::StatusOr<Plan> PlanFromProto(const v1::Plan& proto) {
  Plan plan;
  if (proto.members().empty())
    return absl::InvalidArgumentError("members: is empty; a plan has at least one");
  SDP_RETURN_IF_ERROR(CheckNotNegative("epoch", proto.epoch()));
  SDP_RETURN_IF_ERROR(CheckNotNegative("first_step", proto.first_step()));
  plan.epoch = Epoch(proto.epoch());
  plan.first_step = proto.first_step();
  for (int i = 0; i < proto.members_size(); ++i) {
    SDP_ASSIGN_OR_RETURN(PlanMember member,
                         MemberFromProto(proto.members(i), absl::StrCat("members[", i, "]")));
    plan.members.push_back(std::move(member));
  }
  SDP_ASSIGN_OR_RETURN(plan.mask, MaskFromProto(proto));
  for (int i = 0; i < proto.holder_sets_size(); ++i) {
    const auto& ranks = proto.holder_sets(i).ranks();
    for (int j = 0; j < ranks.size(); ++j) {
      SDP_RETURN_IF_ERROR(
          CheckIndex(absl::StrCat("holder_sets[", i, "].ranks[", j, "]"), ranks[j], plan.world_size()));
    }
    plan.holder_sets.emplace_back(ranks.begin(), ranks.end());
  }
  for (int i = 0; i < proto.buckets_size(); ++i) {
    SDP_ASSIGN_OR_RETURN(Bucket bucket,
                         BucketFromProto(proto.buckets(i), plan, absl::StrCat("buckets[", i, "]")));
    plan.buckets.push_back(std::move(bucket));
  }
  plan.digest = proto.digest();
  plan.summary = SummaryFromProto(proto.summary());
  return plan;
}

}  // namespace sdp
