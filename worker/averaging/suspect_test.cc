#include "worker/averaging/suspect.h"

#include <gtest/gtest.h>

namespace sdp {
namespace {

TEST(Suspect, TravelsBesideTheMessage) {
  const absl::Status status = WithSuspect(absl::UnavailableError("rank 12 is gone"), 12);
  EXPECT_EQ(SuspectedRank(status), 12);
  EXPECT_EQ(status.message(), "rank 12 is gone");
}

TEST(Suspect, IsAbsentFromOtherErrors) {
  EXPECT_EQ(SuspectedRank(absl::InternalError("disk")), std::nullopt);
  EXPECT_EQ(SuspectedRank(absl::OkStatus()), std::nullopt);
}

}  // namespace
}  // namespace sdp
