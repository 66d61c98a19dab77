#include "common/model/plan.h"

#include <algorithm>

#include "absl/strings/str_format.h"
#include "absl/strings/string_view.h"
#include "common/base/check.h"
#include "xxhash.h"

namespace sdp {
namespace {

// Byte string with fixed widths and byte order; counts come before what they count, so that no two different
// plans have the same bytes.
class Serializer {
 public:
  void Integer(int64_t value) {
    const uint64_t bits = static_cast<uint64_t>(value);
    for (int shift = 0; shift < 64; shift += 8) bytes_.push_back(static_cast<char>(bits >> shift & 0xff));
  }
  void Text(absl::string_view text) {
    Integer(static_cast<int64_t>(text.size()));
    bytes_.append(text.data(), text.size());
  }
  void Integers(const std::vector<int>& values) {
    Integer(static_cast<int64_t>(values.size()));
    for (int value : values) Integer(value);
  }
  const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_;
};

}  // namespace

bool Plan::Holds(Rank rank, const Bucket& bucket) const {
  const std::vector<Rank>& holders = holder_sets[bucket.holder_set];
  return std::binary_search(holders.begin(), holders.end(), rank);
}

bool Plan::Holds(Rank rank, const Component& component) const {
  return component.shared() || mask.holds(rank, component.mask_column);
}

Rank Plan::Provider(const ParameterTable& table, int component) const {
  // Components in order, each to the holder that provides the fewest elements so far.
  std::vector<int64_t> provided(members.size(), 0);
  for (int i = 0;; ++i) {
    Rank best = -1;
    for (Rank rank = 0; rank < world_size(); ++rank) {
      if (!Holds(rank, table.components[i])) continue;
      if (best < 0 || provided[rank] < provided[best]) best = rank;
    }
    SDP_CHECK(best >= 0, "a component has no holder");
    if (i == component) return best;
    provided[best] += table.components[i].elements;
  }
}

int64_t Plan::SequencesOf(int holder_set) const {
  int64_t sequences = 0;
  for (Rank rank : holder_sets[holder_set]) sequences += members[rank].sequences;
  return sequences;
}

std::string PlanDigest(const Plan& plan) {
  Serializer out;
  out.Integer(plan.epoch.value());
  out.Integer(plan.world_size());
  for (const PlanMember& member : plan.members) {
    out.Text(member.worker.value());
    out.Integer(static_cast<int64_t>(member.incarnation.value()));
    out.Text(member.data_plane_address);
    out.Integer(member.first_sequence);
    out.Integer(member.sequences);
  }
  out.Integer(plan.mask.columns());
  out.Integer(plan.mask.workers());
  for (const std::string& row : plan.mask.Rows()) out.Text(row);
  out.Integer(static_cast<int64_t>(plan.holder_sets.size()));
  for (const std::vector<Rank>& ranks : plan.holder_sets) out.Integers(ranks);
  out.Integer(static_cast<int64_t>(plan.buckets.size()));
  for (const Bucket& bucket : plan.buckets) {
    out.Integer(bucket.holder_set);
    out.Integers(bucket.slices);
    out.Integer(bucket.elements);
    out.Integer(bucket.norm_rank);
  }
  out.Integer(plan.first_step);
  return absl::StrFormat("%016x", XXH3_64bits(out.bytes().data(), out.bytes().size()));
}

}  // namespace sdp
