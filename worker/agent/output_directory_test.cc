#include "worker/agent/output_directory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <limits>

#include "common/testing/temporary_folder.h"

namespace sdp {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(OutputDirectory, IsCreatedAndLeftEmpty) {
  const TemporaryFolder folder;
  EXPECT_TRUE(CheckOutputDirectory(folder / "deep/er", 0, 1).ok());
  EXPECT_EQ(folder.Files(), std::vector<std::string>{"deep"});
  EXPECT_TRUE(CheckOutputDirectory(folder / "deep/er", 0, 1).ok()) << "one that exists is fine";
}

TEST(OutputDirectory, BelowAFileIsRefusedByName) {
  const TemporaryFolder folder;
  WriteTestFile(folder / "file", "x");
  const absl::Status status = CheckOutputDirectory(folder / "file/model", 0, 1);
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(status.message(), HasSubstr(folder / "file/model"));
}

TEST(OutputDirectory, WithoutThePermissionIsRefusedByName) {
  const TemporaryFolder folder;
  ASSERT_EQ(chmod(folder.path().c_str(), 0555), 0);
  const WithoutRoot without_root;
  const absl::Status status = CheckOutputDirectory(folder.path(), 0, 1);
  EXPECT_EQ(status.code(), absl::StatusCode::kPermissionDenied);
  EXPECT_THAT(status.message(), HasSubstr(folder.path()));
}

TEST(OutputDirectory, WithTooLittleSpaceIsRefusedWithTheAmounts) {
  const TemporaryFolder folder;
  const absl::Status status = CheckOutputDirectory(folder.path(), 0, std::numeric_limits<int64_t>::max());
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(status.message(), HasSubstr("9223372036854775807"));
}

}  // namespace
}  // namespace sdp
