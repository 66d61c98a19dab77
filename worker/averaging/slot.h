// The 64-bit tags by which messages of the data plane find their receive.
#pragma once

#include <cstdint>

#include "common/base/random.h"

namespace sdp {

// Groups of a mesh have ids below this.
constexpr uint32_t kMaxGroups = 1 << 16;

// Messages outside of any collective: the last one on a connection, and the first one, to the rank that drew
// `key`.
constexpr uint64_t kFarewellSlot = uint64_t{1} << 63;
inline uint64_t GreetingSlot(uint64_t key) { return uint64_t{3} << 62 | key; }

// What two members must agree on before their messages may meet, beside group and sequence. A receive of
// another length would end the process inside Gloo; with the length in the tag, members that started
// different collectives merely wait for each other until the deadline.
inline uint16_t SlotCheck(uint64_t kind, uint64_t elements, uint64_t root, uint64_t members_hash) {
  uint64_t mix = MixBits(members_hash ^ MixBits(kind + 1));
  mix = MixBits(mix ^ elements);
  return static_cast<uint16_t>(MixBits(mix ^ (root << 32)));
}

// Layout from the top: 0, check (16 bits), group (16), point to point (1), sequence (18), step (12). Sequence
// and step wrap: messages of one connection with equal tags are matched in order.
struct SlotSpace {
  uint64_t base = 0;

  SlotSpace() = default;
  SlotSpace(uint16_t check, uint32_t group, bool point_to_point, uint64_t sequence)
      : base(uint64_t{check} << 47 | uint64_t{group % kMaxGroups} << 31 |
             uint64_t{point_to_point ? 1u : 0u} << 30 | (sequence % (1 << 18)) << 12) {}

  uint64_t At(int64_t step) const { return base | static_cast<uint64_t>(step % (1 << 12)); }
};

}  // namespace sdp
