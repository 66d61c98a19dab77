#include "worker/averaging/collective_mesh.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <map>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/synchronization/mutex.h"
#include "common/base/status_macros.h"
#include "worker/averaging/algorithms.h"
#include "worker/averaging/executor.h"
#include "worker/averaging/slot.h"

namespace sdp {
namespace {

constexpr int kCollectives = static_cast<int>(Collective::kBarrier) + 1;

// Read by any thread while the executor counts.
struct Counter {
  std::atomic<int64_t> sent{0};
  std::atomic<int64_t> received{0};

  void Add(const ByteCount& bytes) {
    sent.fetch_add(bytes.sent, std::memory_order_relaxed);
    received.fetch_add(bytes.received, std::memory_order_relaxed);
  }
  ByteCount Get() const {
    return ByteCount{sent.load(std::memory_order_relaxed), received.load(std::memory_order_relaxed)};
  }
};

// Runs collectives on the executor's thread. Keeps what can be kept from one step to the next: the scratch
// memory, and a Memory for each buffer that is used again and again.
class Runner : public CollectiveRunner {
 public:
  explicit Runner(Transport& transport)
      : transport_(transport),
        by_group_size_(transport.world_size() + 1),
        scratch_(kScratchBytes / sizeof(float)) {}

  absl::Status Run(const CollectiveCall& call) override {
    const GroupMembers& group = *call.group;
    if (group.ranks.size() == 1 || call.elements == 0) return absl::OkStatus();
    Channel channel(transport_, group.ranks, group.position, call.slots);
    absl::Status status = Dispatch(channel, call);
    by_collective_[static_cast<int>(call.collective)].Add(channel.bytes());
    by_group_size_[group.ranks.size()].Add(channel.bytes());
    return status;
  }

  void ReleaseMemory() override {
    memories_.clear();
    scratch_memory_.reset();
  }

  ByteCount bytes(Collective collective) const { return by_collective_[static_cast<int>(collective)].Get(); }
  ByteCount bytes_of_group_size(int size) const {
    if (size < 0 || size >= static_cast<int>(by_group_size_.size())) return ByteCount();
    return by_group_size_[size].Get();
  }

 private:
  // More than the buckets of any plan; the limit is for callers that never use a buffer twice.
  static constexpr size_t kMaxMemories = 512;

  absl::Status Dispatch(Channel& channel, const CollectiveCall& call) {
    if (call.collective == Collective::kBarrier) {
      const absl::Span<double> data(static_cast<double*>(call.data), call.elements);
      return DoublingAllReduce(channel, MemoryOf(data.data(), data.size() * sizeof(double)), data, scratch());
    }
    const absl::Span<float> data(static_cast<float*>(call.data), call.elements);
    const size_t bytes = data.size() * sizeof(float);
    Memory& memory = MemoryOf(call.data, bytes);
    switch (call.collective) {
      case Collective::kAllReduce:
        return RingAllReduce(channel, memory, data, scratch());
      case Collective::kReduceScatter:
        return RingReduceScatter(channel, memory, data, scratch());
      case Collective::kAllGather:
        return RingAllGather(channel, memory, data);
      case Collective::kBroadcast:
        return ChainBroadcast(channel, memory, data, call.other);
      default:
        break;
    }
    if (call.sends) {
      SDP_RETURN_IF_ERROR(channel.Send(call.other, 0, memory, 0, bytes));
      return channel.WaitSend(memory, call.other);
    }
    SDP_RETURN_IF_ERROR(channel.Recv(call.other, 0, memory, 0, bytes));
    return channel.WaitRecv(memory, call.other);
  }

  Memory& MemoryOf(void* data, size_t bytes) {
    if (memories_.size() >= kMaxMemories) memories_.clear();  // nothing is under way between collectives
    std::unique_ptr<Memory>& memory = memories_[{data, bytes}];
    if (memory == nullptr) memory = transport_.CreateMemory(data, bytes);
    return *memory;
  }

  Scratch scratch() {
    if (scratch_memory_ == nullptr) scratch_memory_ = transport_.CreateMemory(scratch_.data(), kScratchBytes);
    return Scratch{scratch_.data(), scratch_memory_.get()};
  }

  Transport& transport_;
  std::array<Counter, kCollectives> by_collective_;
  std::vector<Counter> by_group_size_;
  // The executor's thread only.
  std::vector<float> scratch_;
  std::unique_ptr<Memory> scratch_memory_;
  std::map<std::pair<void*, size_t>, std::unique_ptr<Memory>> memories_;
};

// Numbers the collectives of a group. All communicators of one id share it.
class Group {
 public:
  explicit Group(GroupMembers members)
      : members_(std::make_shared<const GroupMembers>(std::move(members))),
        sent_(members_->ranks.size(), 0),
        received_(members_->ranks.size(), 0) {
    for (Rank rank : members_->ranks) hash_ = MixBits(hash_ ^ static_cast<uint64_t>(rank));
  }

  const std::shared_ptr<const GroupMembers>& members() const { return members_; }

  // Queues the call as the group's next, with the slots that follow from that.
  std::unique_ptr<Work> Start(CollectiveCall call, Executor& executor) {
    absl::MutexLock lock(&mutex_);
    const bool point_to_point = call.collective == Collective::kSendRecv;
    uint64_t& sequence = !point_to_point ? collectives_
                         : call.sends    ? sent_[call.other]
                                         : received_[call.other];
    const uint16_t check = SlotCheck(static_cast<uint64_t>(call.collective), call.elements,
                                     point_to_point ? 0 : call.other, hash_);
    call.slots = SlotSpace(check, members_->id, point_to_point, sequence++);
    call.group = members_;
    return executor.Start(std::move(call));
  }

 private:
  const std::shared_ptr<const GroupMembers> members_;
  uint64_t hash_ = 0;
  absl::Mutex mutex_;
  uint64_t collectives_ ABSL_GUARDED_BY(mutex_) = 0;
  std::vector<uint64_t> sent_ ABSL_GUARDED_BY(mutex_);  // point to point, by peer
  std::vector<uint64_t> received_ ABSL_GUARDED_BY(mutex_);
};

// A collective that was started with wrong arguments and never ran.
class RefusedWork : public Work {
 public:
  explicit RefusedWork(std::string message) : status_(absl::InvalidArgumentError(message)) {}
  absl::Status Wait() override { return status_; }
  bool Done() const override { return true; }
  absl::Time began() const override { return time_; }
  absl::Time ended() const override { return time_; }

 private:
  const absl::Status status_;
  const absl::Time time_ = absl::Now();
};

class GroupCommunicator : public Communicator {
 public:
  GroupCommunicator(std::shared_ptr<Group> group, Executor& executor)
      : group_(std::move(group)), executor_(executor) {}

  const std::vector<Rank>& ranks() const override { return group_->members()->ranks; }

  std::unique_ptr<Work> AllReduce(absl::Span<float> data) override {
    return Start(Collective::kAllReduce, data.data(), data.size());
  }
  std::unique_ptr<Work> AllReduceSmall(absl::Span<double> data) override {
    return Start(Collective::kBarrier, data.data(), data.size());
  }
  std::unique_ptr<Work> ReduceScatter(absl::Span<float> data) override {
    return Start(Collective::kReduceScatter, data.data(), data.size());
  }
  std::unique_ptr<Work> AllGather(absl::Span<float> data) override {
    return Start(Collective::kAllGather, data.data(), data.size());
  }
  std::unique_ptr<Work> Broadcast(absl::Span<float> data, int root) override {
    if (root < 0 || root >= size()) return Refuse("broadcast: root", root);
    return Start(Collective::kBroadcast, data.data(), data.size(), root);
  }
  std::unique_ptr<Work> Send(absl::Span<const float> data, int peer) override {
    if (!IsPeer(peer)) return Refuse("send: peer", peer);
    // Nothing is written through the pointer.
    return Start(Collective::kSendRecv, const_cast<float*>(data.data()), data.size(), peer, /*sends=*/true);
  }
  std::unique_ptr<Work> Recv(absl::Span<float> data, int peer) override {
    if (!IsPeer(peer)) return Refuse("receive: peer", peer);
    return Start(Collective::kSendRecv, data.data(), data.size(), peer);
  }

 private:
  bool IsPeer(int position) const {
    return position >= 0 && position < size() && position != group_->members()->position;
  }

  std::unique_ptr<Work> Start(Collective collective, void* data, size_t elements, int other = 0,
                              bool sends = false) {
    CollectiveCall call;
    call.collective = collective;
    call.data = data;
    call.elements = static_cast<int64_t>(elements);
    call.other = other;
    call.sends = sends;
    return group_->Start(std::move(call), executor_);
  }

  std::unique_ptr<Work> Refuse(absl::string_view what, int position) const {
    return std::make_unique<RefusedWork>(
        absl::StrCat(what, " is position ", position, "; it must be that of ",
                     what == "broadcast: root" ? "a" : "another", " member of the group of ", size()));
  }

  const std::shared_ptr<Group> group_;
  Executor& executor_;
};

class CollectiveMesh : public Mesh {
 public:
  CollectiveMesh(std::shared_ptr<Transport> transport, const MeshOptions& options)
      : transport_(std::move(transport)),
        runner_(*transport_),
        executor_(transport_, options.collective_timeout, runner_) {}

  Rank rank() const override { return transport_->rank(); }
  int world_size() const override { return transport_->world_size(); }

  absl::StatusOr<std::unique_ptr<Communicator>> Group(std::vector<Rank> ranks, uint32_t id) override {
    SDP_RETURN_IF_ERROR(CheckRanks(ranks, id));
    absl::MutexLock lock(&mutex_);
    std::shared_ptr<class Group>& group = groups_[id];
    if (group != nullptr && group->members()->ranks != ranks) {
      return absl::InvalidArgumentError(absl::StrCat("group ", id, " is already that of ranks ",
                                                     absl::StrJoin(group->members()->ranks, ", ")));
    }
    if (group == nullptr) {
      GroupMembers members;
      members.id = id;
      members.position = static_cast<int>(std::find(ranks.begin(), ranks.end(), rank()) - ranks.begin());
      members.ranks = std::move(ranks);
      group = std::make_shared<class Group>(std::move(members));
    }
    return std::make_unique<GroupCommunicator>(group, executor_);
  }

  void Abort(absl::string_view reason) override { executor_.Abort(reason); }

  ByteCount bytes(Collective collective) const override { return runner_.bytes(collective); }
  ByteCount bytes_of_group_size(int size) const override { return runner_.bytes_of_group_size(size); }

 private:
  absl::Status CheckRanks(const std::vector<Rank>& ranks, uint32_t id) const {
    const std::string group = absl::StrCat("group ", id, " of ranks [", absl::StrJoin(ranks, ", "), "]");
    if (id >= kMaxGroups) {
      return absl::InvalidArgumentError(absl::StrCat(group, ": the id must be below ", kMaxGroups));
    }
    for (size_t i = 0; i < ranks.size(); ++i) {
      if (ranks[i] < 0 || ranks[i] >= world_size() || (i > 0 && ranks[i] <= ranks[i - 1])) {
        return absl::InvalidArgumentError(
            absl::StrCat(group, ": ranks must ascend from 0 to at most ", world_size() - 1));
      }
    }
    if (std::find(ranks.begin(), ranks.end(), rank()) == ranks.end()) {
      return absl::InvalidArgumentError(absl::StrCat(group, ": this rank, ", rank(), ", must be among them"));
    }
    return absl::OkStatus();
  }

  const std::shared_ptr<Transport> transport_;
  Runner runner_;
  absl::Mutex mutex_;
  std::map<uint32_t, std::shared_ptr<class Group>> groups_ ABSL_GUARDED_BY(mutex_);
  Executor executor_;  // last: its thread uses the others
};

}  // namespace

std::unique_ptr<Mesh> MakeMesh(std::unique_ptr<Transport> transport, const MeshOptions& options) {
  return std::make_unique<CollectiveMesh>(std::move(transport), options);
}

}  // namespace sdp
