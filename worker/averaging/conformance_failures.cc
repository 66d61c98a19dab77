// Deadlines, aborts, peers that go, destruction.
#include <atomic>
#include <string>
#include <thread>

#include "absl/synchronization/notification.h"
#include "gmock/gmock.h"
#include "worker/averaging/conformance.h"
#include "worker/averaging/suspect.h"

namespace sdp {
namespace {

using ::testing::AnyOf;
using ::testing::HasSubstr;

// A collective that needs all members, started on one rank.
struct Starter {
  const char* name;
  std::function<std::unique_ptr<Work>(Communicator&, std::vector<float>&, std::vector<double>&)> start;
};

// Each blocks rank 1 of three as long as rank 0 starts nothing.
std::vector<Starter> Starters() {
  using F = std::vector<float>;
  using D = std::vector<double>;
  return {
      {"all-reduce", [](Communicator& c, F& f, D&) { return c.AllReduce(absl::MakeSpan(f)); }},
      {"small all-reduce", [](Communicator& c, F&, D& d) { return c.AllReduceSmall(absl::MakeSpan(d)); }},
      {"reduce-scatter", [](Communicator& c, F& f, D&) { return c.ReduceScatter(absl::MakeSpan(f)); }},
      {"all-gather", [](Communicator& c, F& f, D&) { return c.AllGather(absl::MakeSpan(f)); }},
      {"broadcast", [](Communicator& c, F& f, D&) { return c.Broadcast(absl::MakeSpan(f), 0); }},
      {"send", [](Communicator& c, F& f, D&) { return c.Send(f, 0); }},
      {"recv", [](Communicator& c, F& f, D&) { return c.Recv(absl::MakeSpan(f), 0); }},
  };
}

TEST_P(MeshConformance, AbortEndsEveryCollective) {
  for (const Starter& starter : Starters()) {
    SCOPED_TRACE(starter.name);
    const Meshes meshes = Make(3);
    auto all = meshes[1]->Group(AllRanks(3), 0);
    ASSERT_TRUE(all.ok()) << all.status();
    std::vector<float> floats(100000, 1.0f);
    std::vector<double> doubles(8, 1.0);
    auto running = starter.start(**all, floats, doubles);
    auto queued = starter.start(**all, floats, doubles);
    absl::Status status;
    std::thread waiter([&] { status = running->Wait(); });
    std::thread aborter([&] { meshes[1]->Abort("epoch 7 is over"); });
    waiter.join();
    aborter.join();
    EXPECT_EQ(status.code(), absl::StatusCode::kCancelled) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr("epoch 7 is over"));
    EXPECT_EQ(queued->Wait().code(), absl::StatusCode::kCancelled);
    meshes[1]->Abort("another reason");
    const absl::Status later = starter.start(**all, floats, doubles)->Wait();
    EXPECT_EQ(later.code(), absl::StatusCode::kCancelled);
    EXPECT_THAT(std::string(later.message()), HasSubstr("epoch 7 is over"));
  }
}

TEST_P(MeshConformance, AbortInTheMiddleOfLargeCollectives) {
  constexpr int kWorld = 3;
  for (int round = 0; round < 5; ++round) {
    const Meshes meshes = Make(kWorld);
    std::atomic<int> completed{0};
    std::thread aborter([&] {
      const int wanted = 3 * round;
      while (completed < wanted) std::this_thread::yield();
      for (const auto& mesh : meshes) mesh->Abort("enough");
    });
    OnEveryRank(kWorld, [&](Rank rank) {
      auto all = meshes[rank]->Group(AllRanks(kWorld), 0);
      ASSERT_TRUE(all.ok()) << all.status();
      absl::Status status;
      while (status.ok()) {
        std::vector<float> data(500000, 1.0f);  // goes away after each: nobody may touch it after Wait
        auto work = (*all)->AllReduce(absl::MakeSpan(data));
        status = work->Wait();
        ++completed;
      }
      // A peer's abort may be heard before one's own.
      EXPECT_THAT(status.code(), AnyOf(absl::StatusCode::kCancelled, absl::StatusCode::kUnavailable));
      EXPECT_THAT(status.ToString(), AnyOf(HasSubstr("enough"), HasSubstr("rank")));
    });
    aborter.join();
  }
}

TEST_P(MeshConformance, DeadlineNamesTheMissingRank) {
  for (const Starter& starter : Starters()) {
    SCOPED_TRACE(starter.name);
    const Meshes meshes = Make(3, absl::Milliseconds(50));
    auto all = meshes[1]->Group(AllRanks(3), 0);
    ASSERT_TRUE(all.ok()) << all.status();
    std::vector<float> floats(100000, 1.0f);
    std::vector<double> doubles(8, 1.0);
    auto first = starter.start(**all, floats, doubles);
    auto second = starter.start(**all, floats, doubles);
    // Waiting for a later one is enough to have the first one's deadline watched.
    const absl::Status status = second->Wait();
    EXPECT_EQ(status.code(), absl::StatusCode::kDeadlineExceeded) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr("rank 0"));
    EXPECT_EQ(SuspectedRank(status), 0);
    EXPECT_EQ(first->Wait().code(), absl::StatusCode::kDeadlineExceeded);
    EXPECT_EQ(starter.start(**all, floats, doubles)->Wait().code(), absl::StatusCode::kDeadlineExceeded);
  }
}

TEST_P(MeshConformance, MembersThatStartDifferentCollectivesReachTheDeadline) {
  const Meshes meshes = Make(2, absl::Milliseconds(50));
  OnEveryRank(2, [&](Rank rank) {
    auto all = meshes[rank]->Group({0, 1}, 0);
    ASSERT_TRUE(all.ok()) << all.status();
    std::vector<float> data(1000 + rank);
    const absl::Status status = (*all)->AllReduce(absl::MakeSpan(data))->Wait();
    EXPECT_EQ(status.code(), absl::StatusCode::kDeadlineExceeded) << status;
  });
}

TEST_P(MeshConformance, DestroyedMemberIsNamedToAllOthers) {
  for (const Starter& starter : Starters()) {
    if (std::string(starter.name) == "send" || std::string(starter.name) == "recv") continue;
    SCOPED_TRACE(starter.name);
    constexpr int kWorld = 4;
    Meshes meshes = Make(kWorld);
    absl::Notification started;
    std::atomic<int> waiting{0};
    OnEveryRank(kWorld, [&](Rank rank) {
      if (rank == 0) {
        started.WaitForNotification();
        meshes[0].reset();
        return;
      }
      auto all = meshes[rank]->Group(AllRanks(kWorld), 0);
      ASSERT_TRUE(all.ok()) << all.status();
      std::vector<float> floats(100000, 1.0f);
      std::vector<double> doubles(8, 1.0);
      auto work = starter.start(**all, floats, doubles);
      if (++waiting == kWorld - 1) started.Notify();
      const absl::Status status = work->Wait();
      EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable) << status;
      EXPECT_THAT(std::string(status.message()), HasSubstr("rank 0"));
      EXPECT_EQ(SuspectedRank(status), 0);
    });
  }
}

TEST_P(MeshConformance, MemberThatIsGoneFailsTheNextCollective) {
  Meshes meshes = Make(3);
  meshes[2].reset();
  OnEveryRank(2, [&](Rank rank) {
    auto all = meshes[rank]->Group(AllRanks(3), 0);
    ASSERT_TRUE(all.ok()) << all.status();
    std::vector<float> data(10);
    const absl::Status status = (*all)->AllReduce(absl::MakeSpan(data))->Wait();
    EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr("rank 2"));
  });
}

TEST_P(MeshConformance, AbortedMemberTellsTheOthersWhy) {
  const Meshes meshes = Make(3);
  absl::Notification started;
  std::atomic<int> waiting{0};
  OnEveryRank(3, [&](Rank rank) {
    if (rank == 0) {
      started.WaitForNotification();
      meshes[0]->Abort("out of memory");
      return;
    }
    auto all = meshes[rank]->Group(AllRanks(3), 0);
    ASSERT_TRUE(all.ok()) << all.status();
    std::vector<float> data(10);
    auto work = (*all)->AllReduce(absl::MakeSpan(data));
    if (++waiting == 2) started.Notify();
    const absl::Status status = work->Wait();
    EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr("rank 0"));
    EXPECT_THAT(std::string(status.message()), HasSubstr("out of memory"));
    EXPECT_EQ(SuspectedRank(status), 0);
  });
}

// Whoever is done first may leave at once: what the others still do does not need it.
TEST_P(MeshConformance, LeavingAfterTheLastCollectiveHarmsNobody) {
  constexpr int kWorld = 4;
  for (int round = 0; round < 10; ++round) {
    Meshes meshes = Make(kWorld);
    OnEveryRank(kWorld, [&](Rank rank) {
      {
        auto all = meshes[rank]->Group(AllRanks(kWorld), 0);
        ASSERT_TRUE(all.ok()) << all.status();
        std::vector<float> data = Contribution(rank, 200000);
        std::vector<double> few(3, 1.0);
        auto large = (*all)->AllReduce(absl::MakeSpan(data));
        auto small = (*all)->AllReduceSmall(absl::MakeSpan(few));
        EXPECT_EQ(large->Wait(), absl::OkStatus());
        EXPECT_EQ(small->Wait(), absl::OkStatus());
        EXPECT_EQ(data, SumOfContributions(AllRanks(kWorld), 200000));
      }
      meshes[rank].reset();
    });
  }
}

TEST_P(MeshConformance, DestructionEndsPendingWork) {
  Meshes meshes = Make(3);
  std::vector<float> data(100000, 1.0f);
  std::vector<std::unique_ptr<Work>> works;
  auto all = meshes[1]->Group(AllRanks(3), 0);
  ASSERT_TRUE(all.ok()) << all.status();
  for (int i = 0; i < 5; ++i) works.push_back((*all)->AllReduce(absl::MakeSpan(data)));
  meshes[1].reset();
  for (const auto& work : works) {  // outlive the mesh
    EXPECT_TRUE(work->Done());
    EXPECT_EQ(work->Wait().code(), absl::StatusCode::kCancelled);
  }
}

TEST_P(MeshConformance, WorkMayBeDroppedWithoutWaiting) {
  const Meshes meshes = Make(2);
  std::vector<float> data[2] = {std::vector<float>(1000, 1.0f), std::vector<float>(1000, 2.0f)};
  OnEveryRank(2, [&](Rank rank) {
    auto all = meshes[rank]->Group({0, 1}, 0);
    ASSERT_TRUE(all.ok()) << all.status();
    (*all)->AllReduce(absl::MakeSpan(data[rank])).reset();
    std::vector<double> one = {1.0};
    EXPECT_EQ((*all)->AllReduceSmall(absl::MakeSpan(one))->Wait(), absl::OkStatus());
    EXPECT_EQ(data[rank][999], 3.0f);
  });
}

}  // namespace
}  // namespace sdp
