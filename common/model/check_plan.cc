// What makes a plan complete and consistent.
#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_format.h"
#include "common/base/status_macros.h"
#include "common/model/plan.h"

namespace sdp {
namespace {

template <typename... Args>
absl::Status Wrong(const absl::FormatSpec<Args...>& format, const Args&... args) {
  return absl::InvalidArgumentError("plan: " + absl::StrFormat(format, args...));
}

absl::Status CheckMembers(const Plan& plan) {
  if (plan.epoch.value() < 1) return Wrong("epoch is %d; epochs count from 1", plan.epoch.value());
  if (plan.first_step < 0) return Wrong("first_step is %d; steps count from 0", plan.first_step);
  if (plan.members.empty()) return Wrong("it has no members");
  std::set<WorkerName> names;
  for (const PlanMember& member : plan.members) {
    if (!names.insert(member.worker).second) {
      return Wrong("worker \"%s\" is a member twice", member.worker.value());
    }
  }
  return absl::OkStatus();
}

absl::Status CheckSampleSplit(const Plan& plan, int global_sequences) {
  std::vector<std::pair<int64_t, int64_t>> shares;  // (first, count)
  for (Rank rank = 0; rank < plan.world_size(); ++rank) {
    const PlanMember& member = plan.members[rank];
    if (member.sequences < 1) return Wrong("rank %d has %d sequences of each step", rank, member.sequences);
    shares.emplace_back(member.first_sequence, member.sequences);
  }
  std::sort(shares.begin(), shares.end());
  int64_t covered = 0;
  for (const auto& [first, count] : shares) {
    if (first != covered) {
      return Wrong("after sequence %d of each step the next share begins at %d: %s", covered, first,
                   first < covered ? "some sequences are taken twice" : "some sequences are taken by nobody");
    }
    covered += count;
  }
  if (covered != global_sequences) {
    return Wrong("its shares hold %d sequences, but a step has %d", covered, global_sequences);
  }
  return absl::OkStatus();
}

absl::Status CheckMask(const Plan& plan, const ParameterTable& table) {
  const Mask& mask = plan.mask;
  if (mask.workers() != plan.world_size() || mask.columns() != table.mask_columns) {
    return Wrong("its mask is %d x %d, but there are %d members and %d maskable components", mask.workers(),
                 mask.columns(), plan.world_size(), table.mask_columns);
  }
  for (int column = 0; column < mask.columns(); ++column) {
    if (mask.Holders(column).empty()) {
      return Wrong("nobody holds \"%s\"", table.components[table.ComponentOfColumn(column)].name);
    }
  }
  return absl::OkStatus();
}

absl::Status CheckHolderSets(const Plan& plan) {
  if (plan.holder_sets.empty()) return Wrong("it has no holder sets");
  std::set<std::vector<Rank>> distinct;
  for (size_t i = 0; i < plan.holder_sets.size(); ++i) {
    const std::vector<Rank>& ranks = plan.holder_sets[i];
    if (ranks.empty()) return Wrong("holder set %d is empty", i);
    for (size_t j = 0; j < ranks.size(); ++j) {
      if (ranks[j] < 0 || ranks[j] >= plan.world_size()) {
        return Wrong("holder set %d has rank %d, but there are %d members", i, ranks[j], plan.world_size());
      }
      if (j > 0 && ranks[j] <= ranks[j - 1]) return Wrong("the ranks of holder set %d do not ascend", i);
    }
    if (!distinct.insert(ranks).second) return Wrong("holder set %d repeats an earlier one", i);
  }
  if (static_cast<int>(plan.holder_sets[0].size()) != plan.world_size()) {
    return Wrong("holder set 0 is not all ranks");
  }
  return absl::OkStatus();
}

bool SetHoldsExactly(const Plan& plan, int holder_set, const Component& component) {
  const std::vector<Rank>& ranks = plan.holder_sets[holder_set];
  if (component.shared()) return static_cast<int>(ranks.size()) == plan.world_size();
  return ranks == plan.mask.Holders(component.mask_column);
}

// Checks bucket `index` and notes it in `bucket_of` for each of its slices.
absl::Status CheckBucket(const Plan& plan, const ParameterTable& table, int index,
                         std::vector<int>& bucket_of) {
  const Bucket& bucket = plan.buckets[index];
  if (bucket.holder_set < 0 || bucket.holder_set >= static_cast<int>(plan.holder_sets.size())) {
    return Wrong("bucket %d has holder set %d, but there are %d", index, bucket.holder_set,
                 plan.holder_sets.size());
  }
  if (bucket.slices.empty()) return Wrong("bucket %d has no slices", index);
  int64_t elements = 0;
  int checked_component = -1;
  for (int slice : bucket.slices) {
    if (slice < 0 || slice >= static_cast<int>(table.slices.size())) {
      return Wrong("bucket %d has slice %d, but the table has %d", index, slice, table.slices.size());
    }
    if (bucket_of[slice] >= 0) {
      return Wrong("slice %d is in bucket %d and again in bucket %d", slice, bucket_of[slice], index);
    }
    bucket_of[slice] = index;
    elements += table.slices[slice].elements;
    const int component = table.slices[slice].component;
    if (component == checked_component) continue;
    if (!SetHoldsExactly(plan, bucket.holder_set, table.components[component])) {
      return Wrong("bucket %d has holder set %d, but that is not who holds \"%s\"", index, bucket.holder_set,
                   table.components[component].name);
    }
    checked_component = component;
  }
  if (elements != bucket.elements) {
    return Wrong("bucket %d says %d elements, but its slices have %d", index, bucket.elements, elements);
  }
  if (!plan.Holds(bucket.norm_rank, bucket)) {
    return Wrong("bucket %d is counted by rank %d, who does not hold it", index, bucket.norm_rank);
  }
  return absl::OkStatus();
}

absl::Status CheckBuckets(const Plan& plan, const ParameterTable& table) {
  std::vector<int> bucket_of(table.slices.size(), -1);
  for (size_t i = 0; i < plan.buckets.size(); ++i) {
    SDP_RETURN_IF_ERROR(CheckBucket(plan, table, static_cast<int>(i), bucket_of));
  }
  for (size_t slice = 0; slice < bucket_of.size(); ++slice) {
    if (bucket_of[slice] < 0) {
      return Wrong("slice %d (%s) is in no bucket", slice,
                   table.parameters[table.slices[slice].parameter].name);
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckPlan(const Plan& plan, const ParameterTable& table, int global_sequences) {
  SDP_RETURN_IF_ERROR(CheckMembers(plan));
  SDP_RETURN_IF_ERROR(CheckSampleSplit(plan, global_sequences));
  SDP_RETURN_IF_ERROR(CheckMask(plan, table));
  SDP_RETURN_IF_ERROR(CheckHolderSets(plan));
  SDP_RETURN_IF_ERROR(CheckBuckets(plan, table));
  const std::string digest = PlanDigest(plan);
  if (plan.digest != digest) {
    return Wrong("its digest is \"%s\", but its content has \"%s\"", plan.digest, digest);
  }
  return absl::OkStatus();
}

}  // namespace sdp
