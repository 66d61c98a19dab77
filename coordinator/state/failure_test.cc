#include "coordinator/state/failure.h"

#include "gtest/gtest.h"

namespace sdp::coordinator {
namespace {

FailureEvidence Lost(const std::string& worker, const std::string& reason) {
  return {WorkerName(worker), true, absl::UnavailableError(reason), WorkerName()};
}

FailureEvidence Failed(const std::string& worker, absl::Status error, const std::string& suspects = "") {
  return {WorkerName(worker), false, std::move(error), WorkerName(suspects)};
}

TEST(RootCauseTest, LostWorkersComeFirstWhateverTheOrder) {
  EXPECT_EQ(
      DescribeRootCause({Failed("a", absl::InternalError("odd")),
                         Failed("b", absl::UnavailableError("gone"), "c"), Lost("c", "its stream broke")},
                        "at step 3 of 9"),
      "worker c was lost at step 3 of 9: its stream broke");
}

TEST(RootCauseTest, SeveralLostWorkersAreNamedTogether) {
  EXPECT_EQ(DescribeRootCause({Lost("b", "x"), Lost("a", "y")}, "while preparing"),
            "workers b, a were lost while preparing (b: x; a: y)");
}

TEST(RootCauseTest, AnErrorThatBlamesNobodyBeatsOneThatDoes) {
  EXPECT_EQ(DescribeRootCause({Failed("a", absl::UnavailableError("peer gone"), "b"),
                               Failed("b", absl::ResourceExhaustedError("disk full"))},
                              "at step 1 of 2"),
            "worker b failed at step 1 of 2: disk full");
}

TEST(RootCauseTest, ACancellationIsNoCause) {
  EXPECT_EQ(DescribeRootCause(
                {Failed("a", absl::CancelledError("aborted")), Failed("b", absl::InternalError("bug"))},
                "at step 1 of 2"),
            "worker b failed at step 1 of 2: bug");
}

TEST(RootCauseTest, TheFirstIsTheLastResortAndNamesItsSuspect) {
  EXPECT_EQ(DescribeRootCause({Failed("a", absl::UnavailableError(""), "c"),
                               Failed("b", absl::UnavailableError("gone"), "c")},
                              "at step 1 of 2"),
            "worker a failed at step 1 of 2: UNAVAILABLE (it suspects worker c)");
}

using Seen = std::vector<std::pair<WorkerName, std::vector<ShardFingerprint>>>;

TEST(FingerprintTest, EqualFilesAreFine) {
  const std::vector<ShardFingerprint> shards = {{"/x", 5, "aa"}, {"/y", 6, "bb"}};
  EXPECT_EQ(DescribeFingerprintMismatch(Seen{{WorkerName("a"), shards}, {WorkerName("b"), shards}}), "");
  EXPECT_EQ(DescribeFingerprintMismatch(Seen{}), "");
}

TEST(FingerprintTest, NamesTheFileAndWhoSeesWhat) {
  EXPECT_EQ(DescribeFingerprintMismatch(Seen{{WorkerName("a"), {{"/x", 5, "aa"}, {"/y", 6, "bb"}}},
                                             {WorkerName("b"), {{"/x", 5, "aa"}, {"/y", 6, "cc"}}},
                                             {WorkerName("c"), {{"/x", 5, "aa"}, {"/y", 6, "bb"}}}}),
            "data file /y is not the same on all workers: 6 bytes, hash bb on workers a, c; "
            "6 bytes, hash cc on worker b");
}

TEST(FingerprintTest, AMissingFileIsADifference) {
  EXPECT_EQ(DescribeFingerprintMismatch(Seen{{WorkerName("a"), {{"/x", 5, "aa"}}}, {WorkerName("b"), {}}}),
            "data file /x is not the same on all workers: 5 bytes, hash aa on worker a; "
            "no such file on worker b");
}

}  // namespace
}  // namespace sdp::coordinator
