#include "worker/averaging/slot.h"

#include <set>

#include "gtest/gtest.h"
#include "worker/averaging/communicator.h"

namespace sdp {
namespace {

TEST(SlotTest, FieldsDoNotOverlap) {
  const SlotSpace none(0, 0, false, 0);
  EXPECT_EQ(none.At(0), 0u);
  const uint64_t check = SlotSpace(0xffff, 0, false, 0).base;
  const uint64_t group = SlotSpace(0, kMaxGroups - 1, false, 0).base;
  const uint64_t point_to_point = SlotSpace(0, 0, true, 0).base;
  const uint64_t sequence = SlotSpace(0, 0, false, (1 << 18) - 1).base;
  const uint64_t step = none.At(4095);
  EXPECT_EQ(check + group + point_to_point + sequence + step, ~uint64_t{0} >> 1);  // each bit once
  EXPECT_EQ(check | group | point_to_point | sequence | step, ~uint64_t{0} >> 1);
  // Never a slot of a greeting or farewell.
  EXPECT_EQ((check | group | point_to_point | sequence | step) & kFarewellSlot, 0u);
  EXPECT_NE(GreetingSlot(0), kFarewellSlot);
}

TEST(SlotTest, SequenceAndStepWrap) {
  EXPECT_EQ(SlotSpace(1, 2, false, 1 << 18).base, SlotSpace(1, 2, false, 0).base);
  EXPECT_EQ(SlotSpace(1, 2, false, 3).At(4096), SlotSpace(1, 2, false, 3).At(0));
}

TEST(SlotTest, CheckTellsCollectivesApart) {
  std::set<uint16_t> checks;
  for (uint64_t kind = 0; kind < 6; ++kind) checks.insert(SlotCheck(kind, 1000, 0, 7));
  for (uint64_t elements = 0; elements < 6; ++elements) checks.insert(SlotCheck(0, elements, 0, 7));
  for (uint64_t root = 1; root < 7; ++root) checks.insert(SlotCheck(0, 1000, root, 7));
  for (uint64_t members = 8; members < 14; ++members) checks.insert(SlotCheck(0, 1000, 0, members));
  EXPECT_EQ(checks.size(), 24u);
  EXPECT_EQ(SlotCheck(1, 2, 3, 4), SlotCheck(1, 2, 3, 4));
}

TEST(ChunkTest, ChunksCoverEverythingAndDifferByAtMostOne) {
  for (int members = 1; members <= 7; ++members) {
    for (int64_t elements = 0; elements <= 30; ++elements) {
      int64_t end = 0;
      for (int position = 0; position < members; ++position) {
        const Chunk chunk = ChunkOf(elements, members, position);
        EXPECT_EQ(chunk.begin, end);
        EXPECT_GE(chunk.end - chunk.begin, elements / members);
        EXPECT_LE(chunk.end - chunk.begin, elements / members + 1);
        end = chunk.end;
      }
      EXPECT_EQ(end, elements);
    }
  }
}

}  // namespace
}  // namespace sdp
