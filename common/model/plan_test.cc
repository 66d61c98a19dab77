#include "common/model/plan.h"

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace sdp {
namespace {

using ::testing::HasSubstr;

constexpr int kGlobalSequences = 7;

// Two blocks: slice 0 is the embedding, 1-9 block 0, 10-18 block 1, 19-20 the head.
ParameterTable Table() {
  LlamaSpec spec;
  spec.layers = 2;
  spec.hidden = 8;
  spec.heads = spec.kv_heads = 2;
  spec.ffn = 16;
  spec.vocab = 10;
  spec.seq_len = 4;
  return MakeParameterTable(spec);
}

PlanMember Member(const std::string& name, int first, int count) {
  PlanMember member;
  member.worker = WorkerName(name);
  member.incarnation = Incarnation(11);
  member.data_plane_address = name + ":1";
  member.first_sequence = first;
  member.sequences = count;
  return member;
}

Bucket MakeBucket(const ParameterTable& table, int holder_set, std::vector<int> slices, Rank norm_rank) {
  Bucket bucket;
  bucket.holder_set = holder_set;
  for (int slice : slices) bucket.elements += table.slices[slice].elements;
  bucket.slices = std::move(slices);
  bucket.norm_rank = norm_rank;
  return bucket;
}

// Three workers; block 0 on ranks 0 and 1, block 1 on ranks 1 and 2.
Plan GoodPlan() {
  const ParameterTable table = Table();
  Plan plan;
  plan.epoch = Epoch(1);
  plan.members = {Member("a", 0, 3), Member("b", 3, 2), Member("c", 5, 2)};
  plan.mask = Mask::FromRows({"10", "11", "01"}).value();
  plan.holder_sets = {{0, 1, 2}, {0, 1}, {1, 2}};
  plan.buckets = {MakeBucket(table, 0, {20, 19}, 0),
                  MakeBucket(table, 2, {18, 17, 16, 15, 14, 13, 12, 11, 10}, 2),
                  MakeBucket(table, 1, {9, 8, 7, 6, 5, 4, 3, 2, 1}, 0), MakeBucket(table, 0, {0}, 1)};
  plan.first_step = 5;
  plan.digest = PlanDigest(plan);
  return plan;
}

TEST(PlanTest, WhoHoldsWhat) {
  const ParameterTable table = Table();
  const Plan plan = GoodPlan();
  EXPECT_EQ(plan.world_size(), 3);
  EXPECT_TRUE(plan.Holds(2, plan.buckets[0]));
  EXPECT_FALSE(plan.Holds(0, plan.buckets[1]));
  EXPECT_TRUE(plan.Holds(0, plan.buckets[2]));
  EXPECT_TRUE(plan.Holds(2, table.components[0]));
  EXPECT_FALSE(plan.Holds(2, table.components[1]));
  EXPECT_TRUE(plan.Holds(2, table.components[2]));
}

TEST(PlanTest, SequencesOfAHolderSet) {
  const Plan plan = GoodPlan();
  EXPECT_EQ(plan.SequencesOf(0), 7);
  EXPECT_EQ(plan.SequencesOf(1), 5);
  EXPECT_EQ(plan.SequencesOf(2), 4);
}

TEST(PlanTest, ProvidersHoldWhatTheyProvideAndShareTheLoad) {
  LlamaSpec spec;
  spec.layers = 12;
  spec.hidden = 8;
  spec.heads = spec.kv_heads = 2;
  spec.ffn = 16;
  spec.vocab = 10;
  spec.seq_len = 4;
  const ParameterTable table = MakeParameterTable(spec);
  Plan plan = GoodPlan();
  plan.mask = Mask::FromRows({"110110110110", "011011011011", "101101101101"}).value();
  std::vector<int> provided(3, 0);
  for (size_t i = 0; i < table.components.size(); ++i) {
    const Rank provider = plan.Provider(table, static_cast<int>(i));
    EXPECT_TRUE(plan.Holds(provider, table.components[i])) << i;
    if (!table.components[i].shared()) ++provided[provider];
  }
  for (int count : provided) EXPECT_EQ(count, 4);
}

TEST(PlanTest, CheckAcceptsAGoodPlan) {
  EXPECT_EQ(CheckPlan(GoodPlan(), Table(), kGlobalSequences), absl::OkStatus());
}

struct Change {
  std::string name;
  std::function<void(Plan&)> apply;
  std::string complaint;  // part of CheckPlan's message once the digest is made anew
};

void PrintTo(const Change& change, std::ostream* out) { *out << change.name; }

// Every field that members must agree on, changed so that the plan is no longer consistent.
const std::vector<Change>& Damages() {
  static const auto* damages = new std::vector<Change>{
      {"epoch", [](Plan& p) { p.epoch = Epoch(0); }, "epoch is 0"},
      {"first_step", [](Plan& p) { p.first_step = -1; }, "first_step is -1"},
      {"no_members", [](Plan& p) { p.members.clear(); }, "no members"},
      {"worker_twice", [](Plan& p) { p.members[2].worker = WorkerName("a"); }, "\"a\" is a member twice"},
      {"no_sequences", [](Plan& p) { p.members[1].sequences = 0; }, "rank 1 has 0 sequences"},
      {"gap_in_split", [](Plan& p) { p.members[1].first_sequence = 4; }, "taken by nobody"},
      {"overlap_in_split", [](Plan& p) { p.members[1].first_sequence = 2; }, "taken twice"},
      {"first_share_late", [](Plan& p) { p.members[0].first_sequence = 1; }, "taken by nobody"},
      {"split_too_short", [](Plan& p) { p.members[2].sequences = 1; }, "hold 6 sequences, but a step has 7"},
      {"split_too_long", [](Plan& p) { p.members[2].sequences = 3; }, "hold 8 sequences, but a step has 7"},
      {"mask_columns", [](Plan& p) { p.mask = Mask::Full(3, 3); }, "mask is 3 x 3"},
      {"mask_workers", [](Plan& p) { p.mask = Mask::Full(2, 2); }, "mask is 2 x 2"},
      {"no_holder",
       [](Plan& p) {
         p.mask = Mask::FromRows({"10", "10", "10"}).value();
       },
       "nobody holds \"block 1\""},
      {"other_mask",
       [](Plan& p) {
         p.mask = Mask::FromRows({"11", "11", "01"}).value();
       },
       "not who holds \"block 1\""},
      {"no_holder_sets", [](Plan& p) { p.holder_sets.clear(); }, "no holder sets"},
      {"empty_holder_set", [](Plan& p) { p.holder_sets[1].clear(); }, "holder set 1 is empty"},
      {"rank_too_large",
       [](Plan& p) {
         p.holder_sets[2] = {1, 3};
       },
       "holder set 2 has rank 3"},
      {"rank_negative",
       [](Plan& p) {
         p.holder_sets[2] = {-1, 1};
       },
       "holder set 2 has rank -1"},
      {"ranks_descend",
       [](Plan& p) {
         p.holder_sets[2] = {2, 1};
       },
       "holder set 2 do not ascend"},
      {"rank_twice",
       [](Plan& p) {
         p.holder_sets[2] = {1, 1};
       },
       "holder set 2 do not ascend"},
      {"set_twice",
       [](Plan& p) {
         p.holder_sets.push_back({0, 1});
       },
       "holder set 3 repeats"},
      {"first_set", [](Plan& p) { std::swap(p.holder_sets[0], p.holder_sets[1]); },
       "holder set 0 is not all ranks"},
      {"bucket_set_range", [](Plan& p) { p.buckets[1].holder_set = 3; }, "bucket 1 has holder set 3"},
      {"bucket_set_negative", [](Plan& p) { p.buckets[1].holder_set = -1; }, "bucket 1 has holder set -1"},
      {"bucket_other_set", [](Plan& p) { p.buckets[1].holder_set = 1; }, "not who holds \"block 1\""},
      {"shared_to_some", [](Plan& p) { p.buckets[0].holder_set = 1; }, "not who holds \"head\""},
      {"bucket_empty", [](Plan& p) { p.buckets[3].slices.clear(); }, "bucket 3 has no slices"},
      {"slice_range", [](Plan& p) { p.buckets[3].slices[0] = 21; }, "bucket 3 has slice 21"},
      {"slice_negative", [](Plan& p) { p.buckets[3].slices[0] = -1; }, "bucket 3 has slice -1"},
      {"slice_twice",
       [](Plan& p) {
         p.buckets[3].slices = {0, 0};
       },
       "slice 0 is in bucket 3 and again in"},
      {"slice_nowhere", [](Plan& p) { p.buckets.pop_back(); },
       "slice 0 (model.embed_tokens.weight) is in no"},
      {"elements", [](Plan& p) { ++p.buckets[2].elements; }, "bucket 2 says"},
      {"norm_rank", [](Plan& p) { p.buckets[1].norm_rank = 0; }, "counted by rank 0, who does not hold it"},
  };
  return *damages;
}

class PlanDamage : public ::testing::TestWithParam<Change> {};

TEST_P(PlanDamage, IsRefusedWithAReason) {
  Plan plan = GoodPlan();
  GetParam().apply(plan);
  plan.digest = PlanDigest(plan);
  const absl::Status status = CheckPlan(plan, Table(), kGlobalSequences);
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(status.message(), HasSubstr(GetParam().complaint));
}

TEST_P(PlanDamage, ChangesTheDigest) {
  Plan plan = GoodPlan();
  GetParam().apply(plan);
  EXPECT_NE(PlanDigest(plan), GoodPlan().digest);
}

INSTANTIATE_TEST_SUITE_P(All, PlanDamage, ::testing::ValuesIn(Damages()),
                         [](const auto& info) { return info.param.name; });

TEST(PlanTest, CheckRefusesAWrongDigest) {
  Plan plan = GoodPlan();
  plan.digest = "0123456789abcdef";
  const absl::Status status = CheckPlan(plan, Table(), kGlobalSequences);
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(status.message(), HasSubstr("digest"));
}

TEST(PlanTest, DigestCoversEveryField) {
  const std::vector<std::pair<std::string, std::function<void(Plan&)>>> changes = {
      {"epoch", [](Plan& p) { p.epoch = Epoch(2); }},
      {"first step", [](Plan& p) { p.first_step = 6; }},
      {"worker", [](Plan& p) { p.members[0].worker = WorkerName("d"); }},
      {"incarnation", [](Plan& p) { p.members[0].incarnation = Incarnation(12); }},
      {"address", [](Plan& p) { p.members[0].data_plane_address = "a:2"; }},
      {"first sequence", [](Plan& p) { p.members[0].first_sequence = 1; }},
      {"sequences", [](Plan& p) { p.members[0].sequences = 4; }},
      {"order of members", [](Plan& p) { std::swap(p.members[0], p.members[1]); }},
      {"mask", [](Plan& p) { p.mask.set(0, 1, true); }},
      {"holder set",
       [](Plan& p) {
         p.holder_sets[1] = {0, 2};
       }},
      {"where a set ends",
       [](Plan& p) {
         p.holder_sets = {{0, 1, 2, 0}, {1}, {1, 2}};
       }},
      {"holder set of a bucket", [](Plan& p) { p.buckets[0].holder_set = 1; }},
      {"order of slices", [](Plan& p) { std::swap(p.buckets[0].slices[0], p.buckets[0].slices[1]); }},
      {"elements", [](Plan& p) { ++p.buckets[0].elements; }},
      {"norm rank", [](Plan& p) { p.buckets[0].norm_rank = 1; }},
      {"order of buckets", [](Plan& p) { std::swap(p.buckets[0], p.buckets[1]); }},
      {"where a name ends",
       [](Plan& p) {
         p.members[0].worker = WorkerName("aa");
         p.members[0].data_plane_address = ":1";
       }},
  };
  for (const auto& [name, change] : changes) {
    Plan plan = GoodPlan();
    change(plan);
    EXPECT_NE(PlanDigest(plan), GoodPlan().digest) << name;
  }
}

TEST(PlanTest, DigestLeavesOutDigestAndSummary) {
  Plan plan = GoodPlan();
  plan.digest = "";
  plan.summary.spectral_gap = 0.5;
  EXPECT_EQ(PlanDigest(plan), GoodPlan().digest);
}

TEST(PlanTest, DigestIsTheSameOnEveryPlatform) { EXPECT_EQ(PlanDigest(GoodPlan()), "4ba6cf2f3f8ab0af"); }

}  // namespace
}  // namespace sdp
