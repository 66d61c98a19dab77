#include "cli/worker_groups.h"

#include <string>
#include <utility>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace sdp::cli {
namespace {

using testing::HasSubstr;

std::string Parsed(const std::string& text) {
  v1::PlanJobRequest request;
  const absl::Status status = ParseWorkers(text, &request);
  return status.ok() ? request.ShortDebugString() : std::string(status.message());
}

TEST(ParseWorkers, ReadsAllForms) {
  EXPECT_EQ(Parsed("8"), "workers: 8");
  EXPECT_EQ(Parsed(" 8 "), "workers: 8");
  EXPECT_EQ(Parsed("live"), "live_workers: true");
  EXPECT_EQ(Parsed("Live"), "live_workers: true");
  EXPECT_EQ(Parsed("4x80GiB,2X40GB"),
            "worker_groups { count: 4 memory_budget_bytes: 85899345920 } "
            "worker_groups { count: 2 memory_budget_bytes: 40000000000 }");
  EXPECT_EQ(Parsed("4x1GiB@2, 4 x 1GiB @ 0.5"),
            "worker_groups { count: 4 memory_budget_bytes: 1073741824 relative_speed: 2 } "
            "worker_groups { count: 4 memory_budget_bytes: 1073741824 relative_speed: 0.5 }");
  EXPECT_EQ(Parsed("2@1.5,6"), "worker_groups { count: 2 relative_speed: 1.5 } worker_groups { count: 6 }");
  EXPECT_EQ(Parsed("1x24Gi"), "worker_groups { count: 1 memory_budget_bytes: 25769803776 }");
}

TEST(ParseWorkers, SaysWhatIsWrongWhereAndWhatWouldBeRight) {
  EXPECT_EQ(Parsed("0"),
            "\"0\": the number of workers is \"0\"; must be a whole number above 0. Possible are 8 (equal "
            "workers), 4x80GiB,4x40GiB (groups of COUNTxMEMORY), 4x80GiB@2,4x40GiB (with relative speeds) or "
            "live (the workers in the cluster)");
  const std::pair<const char*, const char*> cases[] = {
      {"", "the number of workers is \"\""},
      {"-3", "the number of workers is \"-3\""},
      {"2.5", "the number of workers is \"2.5\""},
      {"99999999999", "the number of workers is \"99999999999\""},
      {"alive", "the number of workers is \"alive\""},
      {"live,4", "\"live\": the number of workers is \"live\""},
      {"4,", "\"\": the number of workers is \"\""},
      {"x80GiB", "\"x80GiB\": the number of workers is \"\""},
      {"80GiBx4", "the number of workers is \"80GiB\""},
      {"4x80GiB,4x", "\"4x\": the memory is \"\"; must be a number of bytes above 0"},
      {"4x80Gigs", "\"4x80Gigs\": the memory is \"80Gigs\""},
      {"4x0", "the memory is \"0\""},
      {"4x80GiB@", "\"4x80GiB@\": the relative speed is \"\""},
      {"4@0", "the relative speed is \"0\"; must be a number above 0"},
      {"4@-1", "the relative speed is \"-1\""},
      {"4@nan", "the relative speed is \"nan\""},
      {"4@1@2", "the relative speed is \"1@2\""},
  };
  for (const auto& [text, message] : cases) EXPECT_THAT(Parsed(text), HasSubstr(message)) << text;
}

TEST(ParseWorkers, LeavesTheRequestAloneWhenItFails) {
  v1::PlanJobRequest request;
  EXPECT_FALSE(ParseWorkers("4x80GiB,nonsense", &request).ok());
  EXPECT_EQ(request.ShortDebugString(), "");
}

}  // namespace
}  // namespace sdp::cli
