// Collectives as sequences of point-to-point messages, the same over every transport.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "worker/averaging/communicator.h"
#include "worker/averaging/slot.h"
#include "worker/averaging/transport.h"

namespace sdp {

// Rings work in segments, so that adding one overlaps with receiving the next. Measured with
// bench:averaging_bench with four ranks: a quarter of this is clearly slower, larger ones gain nothing.
constexpr int64_t kSegmentElements = 128 * 1024;
// Receives that are posted ahead.
constexpr int kSegmentsAhead = 4;
constexpr size_t kScratchBytes = kSegmentsAhead * kSegmentElements * sizeof(float);

// Memory of the mesh for data on its way, used by one collective at a time.
struct Scratch {
  float* data = nullptr;  // kScratchBytes
  Memory* memory = nullptr;
};

// One collective's way of talking to the other members of its group, which it numbers by position. Counts
// bytes.
class Channel {
 public:
  Channel(Transport& transport, const std::vector<Rank>& ranks, int position, SlotSpace slots)
      : transport_(transport), ranks_(ranks), position_(position), slots_(slots) {}

  int size() const { return static_cast<int>(ranks_.size()); }
  int position() const { return position_; }
  const ByteCount& bytes() const { return bytes_; }

  // As in Transport; `step` is the message's number within the collective, agreed upon by both sides.
  absl::Status Send(int to, int64_t step, Memory& memory, size_t offset, size_t bytes);
  absl::Status Recv(int from, int64_t step, Memory& memory, size_t offset, size_t bytes);
  absl::Status WaitSend(Memory& memory, int to) { return transport_.WaitSend(memory, ranks_[to]); }
  absl::Status WaitRecv(Memory& memory, int from) { return transport_.WaitRecv(memory, ranks_[from]); }

 private:
  Transport& transport_;
  const std::vector<Rank>& ranks_;
  const int position_;
  const SlotSpace slots_;
  ByteCount bytes_;
};

// `memory` covers exactly `data` in all of these. The contracts are those of Communicator; groups have at
// least two members.
absl::Status RingAllReduce(Channel& channel, Memory& memory, absl::Span<float> data, Scratch scratch);
absl::Status RingReduceScatter(Channel& channel, Memory& memory, absl::Span<float> data, Scratch scratch);
absl::Status RingAllGather(Channel& channel, Memory& memory, absl::Span<float> data);
// Recursive doubling (Thakur, Rabenseifner and Gropp 2005, section 4.5). Members beyond the largest power of
// two first hand their values to a neighbour and at the end are handed the result.
absl::Status DoublingAllReduce(Channel& channel, Memory& memory, absl::Span<double> data, Scratch scratch);
// Along a chain from `root` in segments: every member sends and receives the data at most once.
absl::Status ChainBroadcast(Channel& channel, Memory& memory, absl::Span<float> data, int root);

}  // namespace sdp
