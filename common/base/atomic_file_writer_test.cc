#include "common/base/atomic_file_writer.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <csignal>
#include <filesystem>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "common/testing/temporary_folder.h"

namespace sdp {
namespace {

std::unique_ptr<AtomicFileWriter> MustCreate(const std::string& path) {
  auto writer = AtomicFileWriter::Create(path);
  EXPECT_TRUE(writer.ok()) << writer.status();
  return std::move(writer).value();
}

TEST(AtomicFileWriterTest, TheFileAppearsAtCommit) {
  const TemporaryFolder folder;
  const std::string path = folder / "file";
  {
    const auto writer = MustCreate(path);
    ASSERT_TRUE(writer->Append("one ").ok());
    ASSERT_TRUE(writer->Append("two").ok());
    EXPECT_EQ(writer->size(), 7);
    EXPECT_FALSE(std::filesystem::exists(path));
    ASSERT_TRUE(writer->Commit().ok());
    EXPECT_EQ(ReadTestFile(path), "one two");
  }
  EXPECT_EQ(folder.Files(), std::vector<std::string>{"file"});
}

TEST(AtomicFileWriterTest, ReplacesAnOlderFile) {
  const TemporaryFolder folder;
  const std::string path = folder / "file";
  WriteTestFile(path, "old");
  const auto writer = MustCreate(path);
  ASSERT_TRUE(writer->Append("new").ok());
  EXPECT_EQ(ReadTestFile(path), "old");
  ASSERT_TRUE(writer->Commit().ok());
  EXPECT_EQ(ReadTestFile(path), "new");
}

TEST(AtomicFileWriterTest, NothingIsLeftWithoutCommit) {
  const TemporaryFolder folder;
  {
    const auto writer = MustCreate(folder / "file");
    ASSERT_TRUE(writer->Append("half").ok());
  }
  EXPECT_EQ(folder.Files(), std::vector<std::string>{});
}

TEST(AtomicFileWriterTest, SizesAroundTheBuffer) {
  constexpr int kBuffer = 1 << 20;
  for (const int size : {0, 1, kBuffer - 1, kBuffer, kBuffer + 1, 3 * kBuffer + 7}) {
    const TemporaryFolder folder;
    std::string expected;
    const auto writer = MustCreate(folder / "file");
    for (const char c : {'a', 'b', 'c'}) {
      const std::string part(size, c);
      ASSERT_TRUE(writer->Append(part).ok());
      expected += part;
    }
    ASSERT_TRUE(writer->Commit().ok());
    EXPECT_EQ(ReadTestFile(folder / "file") == expected, true) << size;
  }
}

TEST(AtomicFileWriterTest, OverwritesWhatWasAppended) {
  const TemporaryFolder folder;
  const auto writer = MustCreate(folder / "file");
  ASSERT_TRUE(writer->Append("????tail").ok());
  ASSERT_TRUE(writer->Overwrite(0, "head").ok());
  ASSERT_TRUE(writer->Append("!").ok());
  ASSERT_TRUE(writer->Commit().ok());
  EXPECT_EQ(ReadTestFile(folder / "file"), "headtail!");
}

TEST(AtomicFileWriterTest, ErrorsNameThePath) {
  const TemporaryFolder folder;
  const auto expect = [](const absl::Status& status, absl::StatusCode code, const std::string& path) {
    EXPECT_EQ(status.code(), code) << status;
    EXPECT_TRUE(absl::StrContains(status.message(), path)) << status;
  };
  const std::string missing = folder / "missing/file";
  expect(AtomicFileWriter::Create(missing).status(), absl::StatusCode::kNotFound, missing);
  expect(AtomicFileWriter::Create(folder.path()).status(), absl::StatusCode::kFailedPrecondition,
         folder.path());

  std::filesystem::permissions(folder.path(),
                               std::filesystem::perms::owner_read | std::filesystem::perms::owner_exec);
  const WithoutRoot without_root;
  const std::string forbidden = folder / "forbidden";
  expect(AtomicFileWriter::Create(forbidden).status(), absl::StatusCode::kPermissionDenied, forbidden);
}

// The kernel's limit on file sizes stands in for a full disk.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t bytes) {
    std::signal(SIGXFSZ, SIG_IGN);
    EXPECT_EQ(getrlimit(RLIMIT_FSIZE, &before_), 0);
    const rlimit limit{bytes, before_.rlim_max};
    EXPECT_EQ(setrlimit(RLIMIT_FSIZE, &limit), 0);
  }
  ~FileSizeLimit() { EXPECT_EQ(setrlimit(RLIMIT_FSIZE, &before_), 0); }

 private:
  rlimit before_{};
};

TEST(AtomicFileWriterTest, WithoutSpaceTheOldFileStays) {
  const TemporaryFolder folder;
  const std::string path = folder / "file";
  WriteTestFile(path, "old");
  {
    const FileSizeLimit limit(1000);
    const auto writer = MustCreate(path);
    ASSERT_TRUE(writer->Append(std::string(2000, 'x')).ok());  // in the buffer
    const absl::Status status = writer->Commit();
    EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted) << status;
    EXPECT_TRUE(absl::StrContains(status.message(), path)) << status;
    EXPECT_EQ(writer->Append(std::string(3 << 20, 'x')).code(), absl::StatusCode::kResourceExhausted);
  }
  EXPECT_EQ(ReadTestFile(path), "old");
  EXPECT_EQ(folder.Files(), std::vector<std::string>{"file"});
}

}  // namespace
}  // namespace sdp
