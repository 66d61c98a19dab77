#include "worker/averaging/commit_barrier.h"

#include <limits>

#include "gtest/gtest.h"
#include "worker/averaging/conformance.h"
#include "worker/averaging/loopback_mesh.h"

namespace sdp {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

TEST(CommitBarrierTest, PackAndUnpackKeepEveryField) {
  CommitContribution contribution;
  contribution.squared_norm = 1.5;
  contribution.loss = 2.5;
  contribution.tokens = (int64_t{1} << 53) - 1;
  contribution.extra = -4.0;
  const CommitResult result = UnpackCommit(PackCommit(contribution));
  EXPECT_EQ(result.squared_norm, 1.5);
  EXPECT_EQ(result.loss, 2.5);
  EXPECT_EQ(result.tokens, (int64_t{1} << 53) - 1);
  EXPECT_EQ(result.non_finite_ranks, 0);
  EXPECT_EQ(result.extra, -4.0);
}

TEST(CommitBarrierTest, NonFiniteBecomesAFlagAndNothingElse) {
  CommitContribution flagged, norm, loss;
  flagged.non_finite = true;
  norm.squared_norm = kInfinity;
  loss.loss = kNan;
  for (CommitContribution contribution : {flagged, norm, loss}) {
    contribution.tokens = 7;
    const CommitResult result = UnpackCommit(PackCommit(contribution));
    EXPECT_EQ(result.non_finite_ranks, 1);
    EXPECT_EQ(result.squared_norm, 0.0);
    EXPECT_EQ(result.loss, 0.0);
    EXPECT_EQ(result.tokens, 7);
  }
}

TEST(CommitBarrierTest, SumsOverAllRanks) {
  constexpr int kWorld = 3;
  const Meshes meshes = LoopbackMeshes(kWorld, MeshOptions());
  OnEveryRank(kWorld, [&](Rank rank) {
    auto all = meshes[rank]->Group(AllRanks(kWorld), 0);
    ASSERT_TRUE(all.ok()) << all.status();
    CommitBarrier barrier(**all);
    for (int step = 0; step < 3; ++step) {
      CommitContribution contribution;
      contribution.squared_norm = rank + 1.0;
      contribution.loss = rank == 1 && step == 1 ? kNan : 10.0;
      contribution.tokens = 100 * (rank + 1);
      contribution.extra = step;
      const absl::StatusOr<CommitResult> result = barrier.Commit(contribution);
      ASSERT_TRUE(result.ok()) << result.status();
      EXPECT_EQ(result->squared_norm, 6.0);
      EXPECT_EQ(result->loss, step == 1 ? 20.0 : 30.0);
      EXPECT_EQ(result->tokens, 600);
      EXPECT_EQ(result->non_finite_ranks, step == 1 ? 1 : 0);
      EXPECT_EQ(result->extra, 3.0 * step);
    }
  });
}

TEST(CommitBarrierTest, PassesErrorsOn) {
  const Meshes meshes = LoopbackMeshes(2, MeshOptions());
  auto all = meshes[0]->Group({0, 1}, 0);
  ASSERT_TRUE(all.ok()) << all.status();
  meshes[0]->Abort("stop");
  EXPECT_EQ(CommitBarrier(**all).Commit(CommitContribution()).status().code(), absl::StatusCode::kCancelled);
}

}  // namespace
}  // namespace sdp
