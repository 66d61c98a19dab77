#include "common/base/random_access_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <string>

#include "absl/strings/match.h"
#include "common/testing/temporary_folder.h"

namespace sdp {
namespace {

TEST(RandomAccessFileTest, ReadsAnyRange) {
  const TemporaryFolder folder;
  WriteTestFile(folder / "file", "0123456789");
  const auto file = RandomAccessFile::Open(folder / "file");
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_EQ((*file)->size(), 10);
  std::string bytes(4, ' ');
  ASSERT_TRUE((*file)->Read(6, absl::MakeSpan(bytes)).ok());
  EXPECT_EQ(bytes, "6789");
  ASSERT_TRUE((*file)->Read(0, absl::MakeSpan(bytes)).ok());
  EXPECT_EQ(bytes, "0123");
}

TEST(RandomAccessFileTest, AFileTruncatedInUseIsAnErrorWithBothSizes) {
  const TemporaryFolder folder;
  WriteTestFile(folder / "file", std::string(10000, 'x'));
  const auto file = RandomAccessFile::Open(folder / "file");
  ASSERT_TRUE(file.ok()) << file.status();
  std::filesystem::resize_file(folder / "file", 5000);
  std::string bytes(4000, ' ');
  EXPECT_TRUE((*file)->Read(1000, absl::MakeSpan(bytes)).ok());
  const absl::Status status = (*file)->Read(3000, absl::MakeSpan(bytes));
  EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss) << status;
  for (const char* part : {"file", "5000", "10000"}) {
    EXPECT_TRUE(absl::StrContains(status.message(), part)) << status;
  }
}

TEST(RandomAccessFileTest, ErrorsNameThePath) {
  const TemporaryFolder folder;
  const auto expect = [](const std::string& path, absl::StatusCode code) {
    const absl::Status status = RandomAccessFile::Open(path).status();
    EXPECT_EQ(status.code(), code) << status;
    EXPECT_TRUE(absl::StrContains(status.message(), path)) << status;
  };
  expect(folder / "missing", absl::StatusCode::kNotFound);
  expect(folder.path(), absl::StatusCode::kInvalidArgument);
  ASSERT_EQ(mkfifo((folder / "pipe").c_str(), 0600), 0);
  expect(folder / "pipe", absl::StatusCode::kInvalidArgument);

  WriteTestFile(folder / "secret", "x");
  std::filesystem::permissions(folder / "secret", std::filesystem::perms::none);
  const WithoutRoot without_root;
  expect(folder / "secret", absl::StatusCode::kPermissionDenied);
}

}  // namespace
}  // namespace sdp
