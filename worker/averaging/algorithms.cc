#include "worker/averaging/algorithms.h"

#include <algorithm>

#include "common/base/status_macros.h"
#include "worker/averaging/sum.h"

namespace sdp {
namespace {

int64_t DivideUp(int64_t a, int64_t b) { return (a + b - 1) / b; }

// The messages of a ring pass, in order. In step s every member sends one chunk to the next position and
// receives one from the previous; the chunk it receives is the one it sends in step s + 1. Chunks go in
// segments, so unit u = (step, segment) is the pass's u-th message on every connection.
class RingPass {
 public:
  // `first` is the chunk that this member sends in step 0. Chunks received in the first `reduce_steps` of the
  // `steps` are added to its own, later ones replace its own.
  RingPass(Channel& channel, Memory& memory, absl::Span<float> data, Scratch scratch, int first, int steps,
           int reduce_steps)
      : channel_(channel),
        memory_(memory),
        data_(data),
        scratch_(scratch),
        members_(channel.size()),
        next_((channel.position() + 1) % members_),
        previous_((channel.position() + members_ - 1) % members_),
        first_(first),
        segments_(std::max<int64_t>(1, DivideUp(DivideUp(data.size(), members_), kSegmentElements))),
        units_(steps * segments_),
        reduce_units_(reduce_steps * segments_) {}

  absl::Status Run() {
    for (int64_t unit = 0; unit < std::min<int64_t>(kSegmentsAhead, units_); ++unit) {
      SDP_RETURN_IF_ERROR(PostRecv(unit));
    }
    for (int64_t unit = 0; unit < segments_; ++unit) SDP_RETURN_IF_ERROR(PostSend(unit));
    for (int64_t unit = 0; unit < units_; ++unit) {
      SDP_RETURN_IF_ERROR(TakeIn(unit));
      if (unit + segments_ < units_) SDP_RETURN_IF_ERROR(PostSend(unit + segments_));
      if (unit + kSegmentsAhead < units_) SDP_RETURN_IF_ERROR(PostRecv(unit + kSegmentsAhead));
    }
    for (; sends_ > 0; --sends_) SDP_RETURN_IF_ERROR(channel_.WaitSend(memory_, next_));
    return absl::OkStatus();
  }

 private:
  // Elements that this member sends as `unit`; what it receives as `unit` is what it sends a step later.
  Chunk SentAs(int64_t unit) const {
    const int64_t step = unit / segments_;
    const int chunk = static_cast<int>(((first_ - step) % members_ + members_) % members_);
    const Chunk whole = ChunkOf(data_.size(), members_, chunk);
    const Chunk part =
        ChunkOf(whole.end - whole.begin, static_cast<int>(segments_), static_cast<int>(unit % segments_));
    return Chunk{whole.begin + part.begin, whole.begin + part.end};
  }
  Chunk ReceivedAs(int64_t unit) const { return SentAs(unit + segments_); }
  static int64_t ScratchOffset(int64_t unit) { return unit % kSegmentsAhead * kSegmentElements; }

  absl::Status PostSend(int64_t unit) {
    const Chunk part = SentAs(unit);
    if (part.begin == part.end) return absl::OkStatus();
    ++sends_;
    return channel_.Send(next_, unit, memory_, part.begin * sizeof(float),
                         (part.end - part.begin) * sizeof(float));
  }

  // A chunk that replaces may be awaited while the same elements are still marked as being sent: it contains
  // this member's summand, so what was sent has arrived.
  absl::Status PostRecv(int64_t unit) {
    const Chunk part = ReceivedAs(unit);
    if (part.begin == part.end) return absl::OkStatus();
    const bool reduce = unit < reduce_units_;
    return channel_.Recv(previous_, unit, reduce ? *scratch_.memory : memory_,
                         (reduce ? ScratchOffset(unit) : part.begin) * sizeof(float),
                         (part.end - part.begin) * sizeof(float));
  }

  absl::Status TakeIn(int64_t unit) {
    const Chunk part = ReceivedAs(unit);
    if (part.begin == part.end) return absl::OkStatus();
    if (unit >= reduce_units_) return channel_.WaitRecv(memory_, previous_);
    SDP_RETURN_IF_ERROR(channel_.WaitRecv(*scratch_.memory, previous_));
    AddInto(data_.data() + part.begin, scratch_.data + ScratchOffset(unit), part.end - part.begin);
    return absl::OkStatus();
  }

  Channel& channel_;
  Memory& memory_;
  const absl::Span<float> data_;
  const Scratch scratch_;
  const int members_;
  const int next_;
  const int previous_;
  const int first_;
  const int64_t segments_;  // per chunk
  const int64_t units_;
  const int64_t reduce_units_;
  int64_t sends_ = 0;  // posted
};

// Exchanges `bytes` at `offset` of `memory` with a partner, whose go to the beginning of the scratch memory.
absl::Status Exchange(Channel& channel, int partner, int64_t step, Memory& memory, size_t offset,
                      size_t bytes, Scratch scratch) {
  SDP_RETURN_IF_ERROR(channel.Recv(partner, step, *scratch.memory, 0, bytes));
  SDP_RETURN_IF_ERROR(channel.Send(partner, step, memory, offset, bytes));
  SDP_RETURN_IF_ERROR(channel.WaitSend(memory, partner));
  return channel.WaitRecv(*scratch.memory, partner);
}

// The part of DoublingAllReduce for elements [begin, end), which fit into the scratch memory.
absl::Status DoublePart(Channel& channel, Memory& memory, absl::Span<double> data, int64_t begin, int64_t end,
                        Scratch scratch) {
  int participants = 1;
  while (2 * participants <= channel.size()) participants *= 2;
  const int extra = channel.size() - participants;
  const int position = channel.position();
  const size_t offset = begin * sizeof(double);
  const size_t bytes = (end - begin) * sizeof(double);
  constexpr int kBefore = 0, kAfter = 1, kRounds = 2;  // steps

  // Of the first 2 * extra members the even ones stand aside.
  const bool paired = position < 2 * extra;
  if (paired && position % 2 == 0) {
    SDP_RETURN_IF_ERROR(channel.Send(position + 1, kBefore, memory, offset, bytes));
    SDP_RETURN_IF_ERROR(channel.WaitSend(memory, position + 1));
    SDP_RETURN_IF_ERROR(channel.Recv(position + 1, kAfter, memory, offset, bytes));
    return channel.WaitRecv(memory, position + 1);
  }
  const double* received = reinterpret_cast<const double*>(scratch.data);
  if (paired) {
    SDP_RETURN_IF_ERROR(channel.Recv(position - 1, kBefore, *scratch.memory, 0, bytes));
    SDP_RETURN_IF_ERROR(channel.WaitRecv(*scratch.memory, position - 1));
    AddInto(data.data() + begin, received, end - begin);
  }
  const int number = paired ? position / 2 : position - extra;  // among the participants
  for (int distance = 1, round = 0; distance < participants; distance *= 2, ++round) {
    // Both partners compute a + b of the same two values: addition commutes, so all get the same bits.
    const int other = number ^ distance;
    const int partner = other < extra ? 2 * other + 1 : other + extra;
    SDP_RETURN_IF_ERROR(Exchange(channel, partner, kRounds + round, memory, offset, bytes, scratch));
    AddInto(data.data() + begin, received, end - begin);
  }
  if (!paired) return absl::OkStatus();
  SDP_RETURN_IF_ERROR(channel.Send(position - 1, kAfter, memory, offset, bytes));
  return channel.WaitSend(memory, position - 1);
}

}  // namespace

absl::Status Channel::Send(int to, int64_t step, Memory& memory, size_t offset, size_t bytes) {
  SDP_RETURN_IF_ERROR(transport_.Send(ranks_[to], slots_.At(step), memory, offset, bytes));
  bytes_.sent += static_cast<int64_t>(bytes);
  return absl::OkStatus();
}

absl::Status Channel::Recv(int from, int64_t step, Memory& memory, size_t offset, size_t bytes) {
  SDP_RETURN_IF_ERROR(transport_.Recv(ranks_[from], slots_.At(step), memory, offset, bytes));
  bytes_.received += static_cast<int64_t>(bytes);
  return absl::OkStatus();
}

absl::Status RingAllReduce(Channel& channel, Memory& memory, absl::Span<float> data, Scratch scratch) {
  const int others = channel.size() - 1;
  // The reduction ends with one's own chunk, as in ReduceScatter; from there it is passed around.
  return RingPass(channel, memory, data, scratch, channel.position() - 1, 2 * others, others).Run();
}

absl::Status RingReduceScatter(Channel& channel, Memory& memory, absl::Span<float> data, Scratch scratch) {
  const int others = channel.size() - 1;
  return RingPass(channel, memory, data, scratch, channel.position() - 1, others, others).Run();
}

absl::Status RingAllGather(Channel& channel, Memory& memory, absl::Span<float> data) {
  return RingPass(channel, memory, data, Scratch(), channel.position(), channel.size() - 1, 0).Run();
}

absl::Status DoublingAllReduce(Channel& channel, Memory& memory, absl::Span<double> data, Scratch scratch) {
  const int64_t elements = static_cast<int64_t>(data.size());
  const int64_t part = kScratchBytes / sizeof(double);
  for (int64_t begin = 0; begin < elements; begin += part) {
    SDP_RETURN_IF_ERROR(DoublePart(channel, memory, data, begin, std::min(begin + part, elements), scratch));
  }
  return absl::OkStatus();
}

absl::Status ChainBroadcast(Channel& channel, Memory& memory, absl::Span<float> data, int root) {
  const int members = channel.size();
  const int place = (channel.position() - root + members) % members;  // in the chain
  const int next = (channel.position() + 1) % members;
  const int previous = (channel.position() + members - 1) % members;
  const bool receives = place > 0;
  const bool sends = place + 1 < members;
  const int segments = static_cast<int>(DivideUp(data.size(), kSegmentElements));
  const auto recv = [&](int segment) {
    const Chunk part = ChunkOf(data.size(), segments, segment);
    return channel.Recv(previous, segment, memory, part.begin * sizeof(float),
                        (part.end - part.begin) * sizeof(float));
  };
  for (int segment = 0; receives && segment < std::min(kSegmentsAhead, segments); ++segment) {
    SDP_RETURN_IF_ERROR(recv(segment));
  }
  for (int segment = 0; segment < segments; ++segment) {
    if (receives) {
      SDP_RETURN_IF_ERROR(channel.WaitRecv(memory, previous));
      if (segment + kSegmentsAhead < segments) SDP_RETURN_IF_ERROR(recv(segment + kSegmentsAhead));
    }
    if (!sends) continue;
    const Chunk part = ChunkOf(data.size(), segments, segment);
    SDP_RETURN_IF_ERROR(channel.Send(next, segment, memory, part.begin * sizeof(float),
                                     (part.end - part.begin) * sizeof(float)));
  }
  for (int segment = 0; sends && segment < segments; ++segment) {
    SDP_RETURN_IF_ERROR(channel.WaitSend(memory, next));
  }
  return absl::OkStatus();
}

}  // namespace sdp
