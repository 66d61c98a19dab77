// Collectives among the workers of one epoch.
//
// A Mesh is the epoch's connections among all members; a Communicator is a group of ranks within it. A mesh
// lives for one epoch and is aborted, never repaired. Implementations: loopback (threads of one process) and
// Gloo (TCP); one conformance suite, conformance.h, holds for both.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "common/base/ids.h"

namespace sdp {

// kBarrier is AllReduceSmall.
enum class Collective { kAllReduce, kReduceScatter, kAllGather, kBroadcast, kSendRecv, kBarrier };

// Payload bytes that this rank has put on and taken off the wire.
struct ByteCount {
  int64_t sent = 0;
  int64_t received = 0;
};

// A collective under way.
class Work {
 public:
  virtual ~Work() = default;
  // Blocks until the collective is complete on this rank. The buffers given to the collective must live until
  // Wait has returned. CANCELLED: the mesh was aborted, with the reason. DEADLINE_EXCEEDED: the collective's
  // deadline passed; UNAVAILABLE: a peer is gone; both name the peer's rank where it is known.
  virtual absl::Status Wait() = 0;
  // True once Wait would not block.
  virtual bool Done() const = 0;
  // When the collective began and ended on this rank; only after Wait. For measuring overlap.
  virtual absl::Time began() const = 0;
  virtual absl::Time ended() const = 0;
};

// A group of ranks. Each member must start the same collectives in the same order; collectives of one mesh
// run one after another in the order in which this rank started them, beside the caller. Members of the group
// are numbered by their position in ranks(). All sums are bit-identical on all members.
class Communicator {
 public:
  virtual ~Communicator() = default;
  virtual const std::vector<Rank>& ranks() const = 0;  // ascending, as ranks of the mesh
  int size() const { return static_cast<int>(ranks().size()); }

  // Sums `data` over the members, in place. Ring: 2 (k-1)/k of the bytes are sent by each.
  virtual std::unique_ptr<Work> AllReduce(absl::Span<float> data) = 0;
  // The same for a few doubles: recursive doubling, fewest rounds. For the commit barrier.
  virtual std::unique_ptr<Work> AllReduceSmall(absl::Span<double> data) = 0;
  // Sums `data` over the members; afterwards this member's chunk of it (ChunkOf(data.size(), position)) holds
  // the sum and the rest is undefined.
  virtual std::unique_ptr<Work> ReduceScatter(absl::Span<float> data) = 0;
  // Every member's chunk of `data` (ChunkOf) is copied to all others, in place.
  virtual std::unique_ptr<Work> AllGather(absl::Span<float> data) = 0;
  // Copies `data` from member `root` (a position in ranks()) to all others.
  virtual std::unique_ptr<Work> Broadcast(absl::Span<float> data, int root) = 0;
  // Point to point; `peer` is a position in ranks().
  virtual std::unique_ptr<Work> Send(absl::Span<const float> data, int peer) = 0;
  virtual std::unique_ptr<Work> Recv(absl::Span<float> data, int peer) = 0;
};

// Elements [begin, end) of the chunk of member `position` when `elements` are divided among `members`: sizes
// differ by at most one.
struct Chunk {
  int64_t begin = 0;
  int64_t end = 0;
};
Chunk ChunkOf(int64_t elements, int members, int position);

class Mesh {
 public:
  // The destructor aborts what is under way and closes all connections.
  virtual ~Mesh() = default;
  virtual Rank rank() const = 0;
  virtual int world_size() const = 0;
  // The group of `ranks` (ascending, containing this rank; INVALID_ARGUMENT otherwise). Costs no connection.
  // All its members must create their groups of the mesh with the same `id` for the same ranks. The mesh must
  // outlive the group.
  virtual absl::StatusOr<std::unique_ptr<Communicator>> Group(std::vector<Rank> ranks, uint32_t id) = 0;
  // Ends every collective, present and future, with CANCELLED and the reason, within milliseconds; from any
  // thread. Idempotent: the first reason stays.
  virtual void Abort(absl::string_view reason) = 0;
  // Counted since the mesh began, by collective.
  virtual ByteCount bytes(Collective collective) const = 0;
  // The same for the collectives of groups of `size` members.
  virtual ByteCount bytes_of_group_size(int size) const = 0;
};

// Exchange of addresses while a mesh connects.
class Rendezvous {
 public:
  virtual ~Rendezvous() = default;
  // Makes this rank's address known to the others.
  virtual absl::Status Publish(std::string address) = 0;
  // Waits for the address of `rank`. DEADLINE_EXCEEDED names the rank; CANCELLED when the epoch was aborted,
  // even if the address is known: that is how a mesh that is connecting hears of it.
  virtual absl::StatusOr<std::string> AddressOf(Rank rank, absl::Time deadline) = 0;
};

struct MeshOptions {
  Rank rank = 0;
  int world_size = 1;
  // Local address (or host name) that the listening socket binds to.
  std::string bind_address = "127.0.0.1";
  // Address (or host name) that peers are told to connect to; empty: bind_address.
  std::string advertised_address;
  // All connections stand within this time.
  absl::Duration connect_timeout = absl::Seconds(30);
  // Any one collective ends within this time, from when it began to run, as long as somebody waits for it or
  // a later one.
  absl::Duration collective_timeout = absl::Seconds(60);
};

}  // namespace sdp
