#include "common/base/process_stats.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <thread>
#include <vector>

#include "absl/synchronization/notification.h"

namespace sdp {
namespace {

ProcessStats Read() {
  const absl::StatusOr<ProcessStats> stats = ReadProcessStats();
  EXPECT_TRUE(stats.ok()) << stats.status();
  return stats.value_or(ProcessStats{});
}

TEST(ProcessStatsTest, ResidentBytesGrowWithTouchedMemory) {
  constexpr size_t kBytes = 64 << 20;
  const int64_t before = Read().resident_bytes;
  EXPECT_GT(before, 0);
  std::vector<char> memory(kBytes, 1);
  const int64_t after = Read().resident_bytes;
  EXPECT_EQ(memory.back(), 1);
  EXPECT_GE(after - before, static_cast<int64_t>(kBytes / 2));
}

TEST(ProcessStatsTest, CountsThreads) {
  const int before = Read().threads;
  EXPECT_GE(before, 1);
  absl::Notification stop;
  std::thread first([&] { stop.WaitForNotification(); });
  std::thread second([&] { stop.WaitForNotification(); });
  EXPECT_EQ(Read().threads, before + 2);
  stop.Notify();
  first.join();
  second.join();
}

TEST(ProcessStatsTest, CountsOpenFileDescriptorsAndLeavesNoneBehind) {
  const int before = Read().open_file_descriptors;
  const int opened = open("/dev/null", O_RDONLY | O_CLOEXEC);
  ASSERT_GE(opened, 0);
  EXPECT_EQ(Read().open_file_descriptors, before + 1);
  close(opened);
  for (int i = 0; i < 10; ++i) Read();
  EXPECT_EQ(Read().open_file_descriptors, before);
}

}  // namespace
}  // namespace sdp
