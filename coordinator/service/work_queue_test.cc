#include "coordinator/service/work_queue.h"

#include <vector>

#include "absl/synchronization/notification.h"
#include "gtest/gtest.h"

namespace sdp::coordinator {
namespace {

TEST(WorkQueue, DoesEverythingInOrderBeforeItEnds) {
  std::vector<int> done;
  {
    WorkQueue queue(/*threads=*/1, /*max_waiting=*/100);
    for (int i = 0; i < 100; ++i) ASSERT_TRUE(queue.Add([&done, i] { done.push_back(i); }));
  }
  ASSERT_EQ(done.size(), 100u);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(done[i], i);
}

TEST(WorkQueue, OneLongPieceDoesNotKeepTheOthersWaiting) {
  absl::Notification end_long, short_done;
  WorkQueue queue(/*threads=*/2, /*max_waiting=*/2);
  ASSERT_TRUE(queue.Add([&] { end_long.WaitForNotification(); }));
  ASSERT_TRUE(queue.Add([&] { short_done.Notify(); }));
  EXPECT_TRUE(short_done.WaitForNotificationWithTimeout(absl::Seconds(60)));
  end_long.Notify();
}

TEST(WorkQueue, RefusesWhatWouldWaitTooLong) {
  absl::Notification begun, end;
  WorkQueue queue(/*threads=*/1, /*max_waiting=*/1);
  ASSERT_TRUE(queue.Add([&] {
    begun.Notify();
    end.WaitForNotification();
  }));
  begun.WaitForNotification();
  EXPECT_TRUE(queue.Add([] {}));
  EXPECT_FALSE(queue.Add([] {}));
  end.Notify();
}

}  // namespace
}  // namespace sdp::coordinator
