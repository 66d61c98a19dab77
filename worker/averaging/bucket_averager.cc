#include "worker/averaging/bucket_averager.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/check.h"
#include "common/base/status_macros.h"

namespace sdp {

absl::StatusOr<HolderGroups> MakeGroups(Mesh& mesh, const Plan& plan) {
  HolderGroups groups(plan.holder_sets.size());
  for (size_t i = 0; i < groups.size(); ++i) {
    const std::vector<Rank>& holders = plan.holder_sets[i];
    if (!std::binary_search(holders.begin(), holders.end(), mesh.rank())) continue;
    SDP_ASSIGN_OR_RETURN(groups[i], mesh.Group(holders, static_cast<uint32_t>(i)));
  }
  return groups;
}

absl::StatusOr<std::unique_ptr<BucketAverager>> BucketAverager::Create(
    const Plan& plan, Rank rank, const HolderGroups& groups, std::vector<absl::Span<float>> buffers) {
  std::vector<HeldBucket> buckets;
  for (size_t i = 0; i < plan.buckets.size(); ++i) {
    const Bucket& bucket = plan.buckets[i];
    if (!plan.Holds(rank, bucket)) continue;
    HeldBucket held;
    held.index = static_cast<int>(i);
    if (buckets.size() < buffers.size()) held.buffer = buffers[buckets.size()];
    if (static_cast<int64_t>(held.buffer.size()) != bucket.elements) {
      return absl::InvalidArgumentError(absl::StrCat("bucket ", i, ": its buffer has ", held.buffer.size(),
                                                     " elements; the plan says ", bucket.elements));
    }
    if (plan.holder_sets[bucket.holder_set].size() > 1) held.communicator = groups[bucket.holder_set].get();
    buckets.push_back(std::move(held));
  }
  if (buckets.size() != buffers.size()) {
    return absl::InvalidArgumentError(absl::StrCat("rank ", rank, " holds ", buckets.size(), " buckets; ",
                                                   buffers.size(), " buffers were given"));
  }
  return std::unique_ptr<BucketAverager>(new BucketAverager(std::move(buckets)));
}

BucketAverager::~BucketAverager() {
  absl::MutexLock lock(&mutex_);
  for (HeldBucket& bucket : buckets_) {
    // The step is given up: whether its sums are right is nobody's business any more.
    if (bucket.work != nullptr) bucket.work->Wait().IgnoreError();
  }
}

void BucketAverager::Begin() {
  absl::MutexLock lock(&mutex_);
  for (HeldBucket& bucket : buckets_) {
    SDP_CHECK(bucket.work == nullptr, "the last step is not finished");
    bucket.ready = false;
  }
  next_ = 0;
}

void BucketAverager::MarkReady(int held) {
  absl::MutexLock lock(&mutex_);
  SDP_CHECK(held >= 0 && held < static_cast<int>(buckets_.size()), "no such bucket");
  SDP_CHECK(!buckets_[held].ready, "a bucket is ready twice in one step");
  buckets_[held].ready = true;
  for (; next_ < buckets_.size() && buckets_[next_].ready; ++next_) {
    HeldBucket& bucket = buckets_[next_];
    if (bucket.communicator != nullptr) bucket.work = bucket.communicator->AllReduce(bucket.buffer);
  }
}

absl::StatusOr<AveragingTimes> BucketAverager::Finish(absl::Time backward_end) {
  absl::MutexLock lock(&mutex_);
  absl::Status status;
  AveragingTimes times;
  for (HeldBucket& bucket : buckets_) {
    if (bucket.work == nullptr) continue;
    const std::unique_ptr<Work> work = std::move(bucket.work);
    status.Update(work->Wait());
    // Collectives of one mesh do not overlap each other.
    times.seconds += absl::ToDoubleSeconds(work->ended() - work->began());
    const absl::Time exposed_from = std::max(work->began(), backward_end);
    times.exposed_seconds += std::max(0.0, absl::ToDoubleSeconds(work->ended() - exposed_from));
  }
  if (status.ok() && next_ < buckets_.size()) {
    status = absl::FailedPreconditionError(
        absl::StrCat("bucket ", buckets_[next_].index, " was not ready when the step ended"));
  }
  SDP_RETURN_IF_ERROR(status);
  return times;
}

}  // namespace sdp
