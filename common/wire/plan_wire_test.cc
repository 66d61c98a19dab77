#include <functional>

#include "common/wire/wire.h"
#include "gmock/gmock.h"
#include "google/protobuf/util/message_differencer.h"
#include "gtest/gtest.h"

namespace sdp {
namespace {

using testing::HasSubstr;

// Two workers, three blocks, every field set.
Plan SmallPlan() {
  Plan plan;
  plan.epoch = Epoch(3);
  plan.members = {{WorkerName("a"), Incarnation(11), "host-a", 0, 5, {}},
                  {WorkerName("b"), Incarnation(12), "host-b", 5, 3, {}}};
  plan.mask = Mask(2, 3);
  for (int column : {0, 1}) plan.mask.set(0, column, true);
  for (int column : {1, 2}) plan.mask.set(1, column, true);
  plan.holder_sets = {{0, 1}, {0}, {1}};
  plan.buckets = {{0, {0, 2}, 20, 1}, {1, {1}, 10, 0}, {2, {3}, 10, 1}};
  plan.first_step = 40;
  plan.digest = "0123456789abcdef";
  plan.summary = {0.75,
                  0.25,
                  0.5,
                  0.375,
                  0.125,
                  1,
                  1.0625,
                  1.25,
                  1.5,
                  40,
                  3,
                  70,
                  0.25,
                  0.5,
                  {"why"},
                  {{30, 80, 1e9, {1, 2, 3, 4, 5, 6, 7}, 2, 64, 2, 0.125, 0.0625, 99},
                   {30, 90, 2e9, {8, 0, 0, 0, 0, 0, 0}, 1, 0, 1, 0, 0, 0}}};
  return plan;
}

TEST(PlanToProto, EveryFieldGoesWhereItBelongs) {
  const v1::Plan proto = PlanToProto(SmallPlan());
  EXPECT_EQ(
      proto.ShortDebugString(),
      "epoch: 3 "
      "members { worker: \"a\" incarnation: 11 data_plane_address: \"host-a\" sequences: 5 } "
      "members { worker: \"b\" incarnation: 12 data_plane_address: \"host-b\" first_sequence: 5 "
      "sequences: 3 } "
      "mask: \"110\" mask: \"011\" "
      "holder_sets { ranks: 0 ranks: 1 } holder_sets { ranks: 0 } holder_sets { ranks: 1 } "
      "buckets { slices: 0 slices: 2 elements: 20 norm_rank: 1 } "
      "buckets { holder_set: 1 slices: 1 elements: 10 } "
      "buckets { holder_set: 2 slices: 3 elements: 10 norm_rank: 1 } "
      "first_step: 40 digest: \"0123456789abcdef\" "
      "summary { active_ratio: 0.75 spectral_gap: 0.25 spectral_gap_bound: 0.5 "
      "spectral_gap_with_shared: 0.375 masking_error: 0.125 coverage_minimum: 1 imbalance: 1.0625 "
      "parameters: 40 workers { parameters: 30 bytes_per_step: 80 flops_per_step: 1000000000 "
      "peak_memory_bytes: 28 memory { parameters: 1 gradients: 2 moments: 3 activations: 4 "
      "logits_and_loss: 5 workspace: 6 buffers: 7 } communicators: 2 memory_budget_bytes: 64 relative_speed: "
      "2 compute_seconds: 0.125 averaging_seconds: 0.0625 communicator_bytes: 99 } "
      "workers { parameters: 30 bytes_per_step: 90 flops_per_step: 2000000000 "
      "peak_memory_bytes: 8 memory { parameters: 8 } communicators: 1 relative_speed: 1 } "
      "memory_imbalance: 1.25 compute_imbalance: 1.5 component_holder_sets: 3 "
      "data_parallel_bytes_per_step: 70 step_seconds_shortest: 0.25 step_seconds_longest: 0.5 "
      "reasons: \"why\" }");
}

struct Malformation {
  const char* name;
  std::function<void(v1::Plan&)> spoil;
  const char* message;
};

const Malformation kMalformations[] = {
    {"NoMembers", [](auto& p) { p.clear_members(); }, "members: is empty"},
    {"BadWorkerName", [](auto& p) { p.mutable_members(1)->set_worker("a b"); }, "members[1].worker: must be"},
    {"NegativeSequences", [](auto& p) { p.mutable_members(0)->set_sequences(-1); },
     "members[0].sequences: is -1"},
    {"NegativeFirstSequence", [](auto& p) { p.mutable_members(1)->set_first_sequence(-2); },
     "members[1].first_sequence: is -2"},
    {"MaskRowMissing", [](auto& p) { p.mutable_mask()->RemoveLast(); }, "mask: has 1 rows"},
    {"MaskRowsOfDifferentLengths", [](auto& p) { p.set_mask(1, "01"); }, "mask: "},
    {"MaskOfOtherCharacters", [](auto& p) { p.set_mask(1, "01x"); }, "mask: "},
    {"RankOutOfRange", [](auto& p) { p.mutable_holder_sets(2)->set_ranks(0, 2); },
     "holder_sets[2].ranks[0]: is 2; must be from 0 to 1"},
    {"HolderSetOutOfRange", [](auto& p) { p.mutable_buckets(1)->set_holder_set(3); },
     "buckets[1].holder_set: is 3"},
    {"NormRankOutOfRange", [](auto& p) { p.mutable_buckets(0)->set_norm_rank(-1); },
     "buckets[0].norm_rank: is -1"},
    {"NegativeSlice", [](auto& p) { p.mutable_buckets(0)->set_slices(1, -4); },
     "buckets[0].slices[1]: is -4"},
    {"NegativeElements", [](auto& p) { p.mutable_buckets(0)->set_elements(-4); },
     "buckets[0].elements: is -4"},
    {"NegativeEpoch", [](auto& p) { p.set_epoch(-1); }, "epoch: is -1"},
    {"NegativeFirstStep", [](auto& p) { p.set_first_step(-1); }, "first_step: is -1"},
};

class MalformedPlan : public testing::TestWithParam<Malformation> {};

TEST_P(MalformedPlan, IsRefusedByField) {
  v1::Plan proto = PlanToProto(SmallPlan());
  ASSERT_TRUE(PlanFromProto(proto).ok());
  GetParam().spoil(proto);
  const absl::Status status = PlanFromProto(proto).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), testing::StartsWith(GetParam().message));
}

INSTANTIATE_TEST_SUITE_P(All, MalformedPlan, testing::ValuesIn(kMalformations),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace sdp
