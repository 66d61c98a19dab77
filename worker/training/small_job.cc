#include "worker/training/small_job.h"

#include <algorithm>
#include <utility>

#include "absl/types/span.h"
#include "common/base/check.h"
#include "common/base/random.h"

namespace sdp {
namespace {

class GeneratedDataset : public TokenDataset {
 public:
  GeneratedDataset(int64_t sequences, int vocab, uint64_t seed)
      : sequences_(sequences), vocab_(vocab), seed_(seed) {}

  int64_t sequences() const override { return sequences_; }

  absl::Status Read(int64_t index, absl::Span<int64_t> tokens) const override {
    Random random(MixBits(seed_ + static_cast<uint64_t>(index)));
    int64_t token = static_cast<int64_t>(random.Below(vocab_));
    const int64_t stride = 1 + static_cast<int64_t>(random.Below(3));
    for (int64_t& out : tokens) {
      out = token;
      token = random.Below(5) == 0 ? static_cast<int64_t>(random.Below(vocab_)) : (token + stride) % vocab_;
    }
    return absl::OkStatus();
  }

  const std::vector<ShardFingerprint>& fingerprints() const override { return fingerprints_; }

 private:
  const int64_t sequences_;
  const int vocab_;
  const uint64_t seed_;
  const std::vector<ShardFingerprint> fingerprints_;
};

int HolderSetOf(Plan& plan, const std::vector<Rank>& holders) {
  const auto found = std::find(plan.holder_sets.begin(), plan.holder_sets.end(), holders);
  const int index = static_cast<int>(found - plan.holder_sets.begin());
  if (found == plan.holder_sets.end()) plan.holder_sets.push_back(holders);
  return index;
}

}  // namespace

JobSpec SmallJob() {
  JobSpec spec;
  spec.model.layers = 4;
  spec.model.hidden = 16;
  spec.model.heads = 4;
  spec.model.kv_heads = 2;
  spec.model.ffn = 40;
  spec.model.vocab = 32;
  spec.model.seq_len = 12;
  spec.optimizer.adamw.learning_rate = 3e-3;
  spec.optimizer.schedule.warmup_steps = 5;
  spec.batch.global_sequences = 8;
  spec.stop_steps = 50;
  spec.seed = 7;
  return spec;
}

Plan PlanFor(const JobSpec& spec, const ParameterTable& table, const std::vector<std::string>& mask,
             std::vector<int> sequences, int64_t bucket_elements) {
  Plan plan;
  const auto rows = Mask::FromRows(mask);
  SDP_CHECK(rows.ok() && rows->columns() == table.mask_columns, "a mask of the table");
  plan.epoch = Epoch(1);
  plan.mask = *rows;
  const int world = plan.mask.workers();
  std::vector<Rank> everyone;
  int first = 0;
  for (Rank rank = 0; rank < world; ++rank) {
    everyone.push_back(rank);
    const int even = spec.batch.global_sequences / world + (rank < spec.batch.global_sequences % world);
    PlanMember member;
    member.worker = WorkerName("worker-" + std::to_string(rank));
    member.first_sequence = first;
    member.sequences = sequences.empty() ? even : sequences[rank];
    first += member.sequences;
    plan.members.push_back(std::move(member));
  }
  plan.holder_sets.push_back(everyone);
  for (size_t i = table.components.size(); i-- > 0;) {
    const Component& component = table.components[i];
    const int set =
        HolderSetOf(plan, component.shared() ? everyone : plan.mask.Holders(component.mask_column));
    if (plan.buckets.empty() || plan.buckets.back().holder_set != set ||
        plan.buckets.back().elements + component.elements > bucket_elements) {
      Bucket bucket;
      bucket.holder_set = set;
      bucket.norm_rank = plan.holder_sets[set][plan.buckets.size() % plan.holder_sets[set].size()];
      plan.buckets.push_back(bucket);
    }
    Bucket& bucket = plan.buckets.back();
    for (int slice = component.end_slice - 1; slice >= component.first_slice; --slice) {
      bucket.slices.push_back(slice);
    }
    bucket.elements += component.elements;
  }
  plan.digest = PlanDigest(plan);
  return plan;
}

std::shared_ptr<const TokenDataset> SmallDataset(int64_t sequences, int vocab, uint64_t seed) {
  return std::make_shared<GeneratedDataset>(sequences, vocab, seed);
}

}  // namespace sdp
