// Walks the buckets of a plan: each is summed over its holders while the rest of backward runs.
#pragma once

#include <memory>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "common/model/plan.h"
#include "worker/averaging/communicator.h"

namespace sdp {

// One communicator for each of the plan's holder sets, by index; null for sets without this mesh's rank.
using HolderGroups = std::vector<std::unique_ptr<Communicator>>;

// The group of holder set i has id i. Errors are those of Mesh::Group.
absl::StatusOr<HolderGroups> MakeGroups(Mesh& mesh, const Plan& plan);

struct AveragingTimes {
  double seconds = 0;          // some bucket's collective was under way
  double exposed_seconds = 0;  // the part of it after backward had ended
};

// Sums only: whoever applies the result divides by what the holders contributed.
class BucketAverager {
 public:
  // `buffers` are the rank's held buckets in the plan's order, each of Bucket::elements; they and `groups`
  // must outlive the averager. INVALID_ARGUMENT names a bucket whose buffer has another size.
  static absl::StatusOr<std::unique_ptr<BucketAverager>> Create(const Plan& plan, Rank rank,
                                                                const HolderGroups& groups,
                                                                std::vector<absl::Span<float>> buffers);
  // Waits for the collectives under way: the buffers may go afterwards.
  ~BucketAverager();

  // Begins a step. The one before must be finished.
  void Begin() ABSL_LOCKS_EXCLUDED(mutex_);
  // This rank's contribution to its `held`-th bucket is complete. From any thread, once for each bucket and
  // step, in any order: collectives start in the plan's order, each as soon as its own bucket and all before
  // it are ready. Never blocks on the network.
  void MarkReady(int held) ABSL_LOCKS_EXCLUDED(mutex_);
  // Waits until every bucket is summed. `backward_end` is when the caller's backward pass ended. Errors:
  // those of Work::Wait, of the first bucket that failed; FAILED_PRECONDITION names a bucket that was never
  // ready.
  absl::StatusOr<AveragingTimes> Finish(absl::Time backward_end) ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  struct HeldBucket {
    int index = 0;                         // in the plan
    Communicator* communicator = nullptr;  // null: this rank is the only holder
    absl::Span<float> buffer;
    bool ready = false;
    std::unique_ptr<Work> work;  // of the step under way
  };

  explicit BucketAverager(std::vector<HeldBucket> buckets) : buckets_(std::move(buckets)) {}

  absl::Mutex mutex_;
  std::vector<HeldBucket> buckets_ ABSL_GUARDED_BY(mutex_);
  size_t next_ ABSL_GUARDED_BY(mutex_) = 0;  // the first whose collective has not started
};

}  // namespace sdp
