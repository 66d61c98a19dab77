// Results, bytes, groups and order.
#include <cmath>
#include <cstring>

#include "common/base/random.h"
#include "worker/averaging/conformance.h"

namespace sdp {
namespace {

constexpr int kLargestWorld = 5;

std::vector<int64_t> Sizes(int members) { return {0, 1, 2, 3, members - 1, members, 1000, 1000000}; }

// Runs `body(communicator of all ranks, rank, elements)` for every world and size.
template <typename Body>
void ForEveryWorldAndSize(const std::function<Meshes(int)>& make, const Body& body) {
  for (int world = 1; world <= kLargestWorld; ++world) {
    const Meshes meshes = make(world);
    OnEveryRank(world, [&](Rank rank) {
      auto all = meshes[rank]->Group(AllRanks(world), 0);
      ASSERT_TRUE(all.ok()) << all.status();
      for (int64_t elements : Sizes(world)) {
        SCOPED_TRACE(testing::Message() << "world " << world << ", rank " << rank << ", size " << elements);
        body(**all, rank, elements);
      }
    });
  }
}

TEST_P(MeshConformance, AllReduceSums) {
  ForEveryWorldAndSize([](int world) { return Make(world); },
                       [](Communicator& all, Rank rank, int64_t elements) {
                         std::vector<float> data = Contribution(rank, elements);
                         ASSERT_EQ(all.AllReduce(absl::MakeSpan(data))->Wait(), absl::OkStatus());
                         EXPECT_EQ(data, SumOfContributions(all.ranks(), elements));
                       });
}

TEST_P(MeshConformance, AllReduceSmallSums) {
  ForEveryWorldAndSize([](int world) { return Make(world); },
                       [](Communicator& all, Rank rank, int64_t elements) {
                         const std::vector<float> own = Contribution(rank, elements);
                         std::vector<double> data(own.begin(), own.end());
                         ASSERT_EQ(all.AllReduceSmall(absl::MakeSpan(data))->Wait(), absl::OkStatus());
                         const std::vector<float> sum = SumOfContributions(all.ranks(), elements);
                         EXPECT_EQ(data, std::vector<double>(sum.begin(), sum.end()));
                       });
}

TEST_P(MeshConformance, ReduceScatterSumsOwnChunk) {
  ForEveryWorldAndSize([](int world) { return Make(world); },
                       [](Communicator& all, Rank rank, int64_t elements) {
                         std::vector<float> data = Contribution(rank, elements);
                         ASSERT_EQ(all.ReduceScatter(absl::MakeSpan(data))->Wait(), absl::OkStatus());
                         const std::vector<float> sum = SumOfContributions(all.ranks(), elements);
                         const Chunk own = ChunkOf(elements, all.size(), rank);
                         for (int64_t i = own.begin; i < own.end; ++i) ASSERT_EQ(data[i], sum[i]) << i;
                       });
}

TEST_P(MeshConformance, AllGatherCopiesEveryChunk) {
  ForEveryWorldAndSize([](int world) { return Make(world); },
                       [](Communicator& all, Rank rank, int64_t elements) {
                         const std::vector<float> expected = Contribution(all.size(), elements);
                         std::vector<float> data(elements, -1.0f);
                         const Chunk own = ChunkOf(elements, all.size(), rank);
                         for (int64_t i = own.begin; i < own.end; ++i) data[i] = expected[i];
                         ASSERT_EQ(all.AllGather(absl::MakeSpan(data))->Wait(), absl::OkStatus());
                         EXPECT_EQ(data, expected);
                       });
}

TEST_P(MeshConformance, BroadcastCopiesFromEveryRoot) {
  ForEveryWorldAndSize([](int world) { return Make(world); },
                       [](Communicator& all, Rank rank, int64_t elements) {
                         for (int root = 0; root < all.size(); ++root) {
                           std::vector<float> data = Contribution(rank, elements);
                           ASSERT_EQ(all.Broadcast(absl::MakeSpan(data), root)->Wait(), absl::OkStatus());
                           ASSERT_EQ(data, Contribution(root, elements)) << "root " << root;
                         }
                       });
}

TEST_P(MeshConformance, SendReachesItsReceiver) {
  ForEveryWorldAndSize([](int world) { return Make(world); },
                       [](Communicator& all, Rank rank, int64_t elements) {
                         // Everyone to everyone; of each pair the smaller rank sends first.
                         for (int peer = 0; peer < all.size(); ++peer) {
                           if (peer == rank) continue;
                           const std::vector<float> own = Contribution(rank, elements);
                           std::vector<float> received(elements, -1.0f);
                           std::unique_ptr<Work> first, second;
                           if (rank < peer) first = all.Send(own, peer);
                           second = all.Recv(absl::MakeSpan(received), peer);
                           if (rank > peer) first = all.Send(own, peer);
                           ASSERT_EQ(first->Wait(), absl::OkStatus());
                           ASSERT_EQ(second->Wait(), absl::OkStatus());
                           ASSERT_EQ(received, Contribution(peer, elements));
                         }
                       });
}

// With values whose sum depends on the order of summing.
TEST_P(MeshConformance, SumsAreBitIdenticalAndClose) {
  for (int world = 2; world <= kLargestWorld; ++world) {
    const Meshes meshes = Make(world);
    constexpr int64_t kElements = 300001;
    std::vector<std::vector<float>> data(world, std::vector<float>(kElements));
    std::vector<std::vector<double>> small(world, std::vector<double>(7));
    std::vector<double> expected(kElements, 0.0);
    Random random(world);
    for (Rank rank = 0; rank < world; ++rank) {
      for (int64_t i = 0; i < kElements; ++i) {
        data[rank][i] = static_cast<float>((random.Unit() - 0.5) * std::exp(8 * random.Unit()));
        expected[i] += data[rank][i];
      }
      for (double& value : small[rank]) value = random.Unit() * std::exp(20 * random.Unit());
    }
    OnEveryRank(world, [&](Rank rank) {
      auto all = meshes[rank]->Group(AllRanks(world), 0);
      ASSERT_TRUE(all.ok()) << all.status();
      auto large = (*all)->AllReduce(absl::MakeSpan(data[rank]));
      auto few = (*all)->AllReduceSmall(absl::MakeSpan(small[rank]));
      ASSERT_EQ(large->Wait(), absl::OkStatus());
      ASSERT_EQ(few->Wait(), absl::OkStatus());
    });
    for (Rank rank = 1; rank < world; ++rank) {
      EXPECT_EQ(std::memcmp(data[0].data(), data[rank].data(), kElements * sizeof(float)), 0) << rank;
      EXPECT_EQ(std::memcmp(small[0].data(), small[rank].data(), 7 * sizeof(double)), 0) << rank;
    }
    for (int64_t i = 0; i < kElements; ++i) {
      ASSERT_NEAR(data[0][i], expected[i], 1e-6 * 3000 * world) << "element " << i;
    }
  }
}

TEST_P(MeshConformance, BytesAreTheRingMinimum) {
  for (int world = 2; world <= kLargestWorld; ++world) {
    const Meshes meshes = Make(world);
    constexpr int64_t kElements = 200003;
    OnEveryRank(world, [&](Rank rank) {
      auto all = meshes[rank]->Group(AllRanks(world), 0);
      ASSERT_TRUE(all.ok()) << all.status();
      std::vector<float> data = Contribution(rank, kElements);
      ASSERT_EQ((*all)->AllReduce(absl::MakeSpan(data))->Wait(), absl::OkStatus());
      ASSERT_EQ((*all)->ReduceScatter(absl::MakeSpan(data))->Wait(), absl::OkStatus());
      ASSERT_EQ((*all)->AllGather(absl::MakeSpan(data))->Wait(), absl::OkStatus());
      ASSERT_EQ((*all)->Broadcast(absl::MakeSpan(data), 0)->Wait(), absl::OkStatus());
    });
    const double pass = (world - 1.0) / world * kElements * sizeof(float);
    ByteCount sum;
    for (Rank rank = 0; rank < world; ++rank) {
      const Mesh& mesh = *meshes[rank];
      EXPECT_NEAR(mesh.bytes(Collective::kAllReduce).sent, 2 * pass, 0.02 * pass);
      EXPECT_NEAR(mesh.bytes(Collective::kAllReduce).received, 2 * pass, 0.02 * pass);
      EXPECT_NEAR(mesh.bytes(Collective::kReduceScatter).sent, pass, 0.01 * pass);
      EXPECT_NEAR(mesh.bytes(Collective::kAllGather).sent, pass, 0.01 * pass);
      EXPECT_LE(mesh.bytes(Collective::kBroadcast).sent, kElements * sizeof(float));
      EXPECT_EQ(mesh.bytes(Collective::kBarrier).sent, 0);
      int64_t by_collective = 0;
      for (Collective collective : {Collective::kAllReduce, Collective::kReduceScatter,
                                    Collective::kAllGather, Collective::kBroadcast}) {
        by_collective += mesh.bytes(collective).sent;
      }
      EXPECT_EQ(mesh.bytes_of_group_size(world).sent, by_collective);
      EXPECT_EQ(mesh.bytes_of_group_size(world - 1).sent, 0);
      sum.sent += mesh.bytes_of_group_size(world).sent;
      sum.received += mesh.bytes_of_group_size(world).received;
    }
    EXPECT_EQ(sum.sent, sum.received);
  }
}

// Every subset of the ranks is a group; each rank walks its groups in the one global order.
TEST_P(MeshConformance, AllGroupsAtOnce) {
  constexpr int kWorld = 4;
  constexpr int64_t kElements = 1003;
  const Meshes meshes = Make(kWorld);
  OnEveryRank(kWorld, [&](Rank rank) {
    std::vector<std::unique_ptr<Communicator>> groups;
    for (uint32_t subset = 1; subset < 1u << kWorld; ++subset) {
      if ((subset >> rank & 1) == 0) continue;
      std::vector<Rank> ranks;
      for (Rank member = 0; member < kWorld; ++member) {
        if (subset >> member & 1) ranks.push_back(member);
      }
      auto group = meshes[rank]->Group(ranks, subset);
      ASSERT_TRUE(group.ok()) << group.status();
      groups.push_back(*std::move(group));
    }
    for (int round = 0; round < 3; ++round) {
      std::vector<std::vector<float>> data(groups.size(), Contribution(rank, kElements));
      std::vector<std::unique_ptr<Work>> works;
      for (size_t i = 0; i < groups.size(); ++i)
        works.push_back(groups[i]->AllReduce(absl::MakeSpan(data[i])));
      for (size_t i = groups.size(); i-- > 0;) {  // in any order
        ASSERT_EQ(works[i]->Wait(), absl::OkStatus());
        EXPECT_EQ(data[i], SumOfContributions(groups[i]->ranks(), kElements));
      }
    }
  });
}

TEST_P(MeshConformance, RunsInTheOrderOfStarting) {
  constexpr int kWorld = 3;
  const Meshes meshes = Make(kWorld);
  OnEveryRank(kWorld, [&](Rank rank) {
    auto all = meshes[rank]->Group(AllRanks(kWorld), 0);
    ASSERT_TRUE(all.ok()) << all.status();
    // Each one depends on the ones before: they share a buffer.
    std::vector<float> data = {1.0f};
    std::vector<std::unique_ptr<Work>> works;
    for (int i = 0; i < 10; ++i) works.push_back((*all)->AllReduce(absl::MakeSpan(data)));
    ASSERT_EQ(works.back()->Wait(), absl::OkStatus());
    EXPECT_EQ(data[0], std::pow(3.0f, 10));
    for (size_t i = 0; i < works.size(); ++i) {
      EXPECT_TRUE(works[i]->Done());
      ASSERT_EQ(works[i]->Wait(), absl::OkStatus());
      EXPECT_LE(works[i]->began(), works[i]->ended());
      if (i > 0) {
        EXPECT_LE(works[i - 1]->ended(), works[i]->began());
      }
    }
  });
}

TEST_P(MeshConformance, RefusesGroupsThatAreNone) {
  const Meshes meshes = Make(3);
  Mesh& mesh = *meshes[1];
  const auto code = [&mesh](std::vector<Rank> ranks, uint32_t id) {
    return mesh.Group(std::move(ranks), id).status().code();
  };
  EXPECT_EQ(code({0, 2}, 1), absl::StatusCode::kInvalidArgument);    // without this rank
  EXPECT_EQ(code({1, 0}, 1), absl::StatusCode::kInvalidArgument);    // not ascending
  EXPECT_EQ(code({1, 1}, 1), absl::StatusCode::kInvalidArgument);    // twice
  EXPECT_EQ(code({1, 3}, 1), absl::StatusCode::kInvalidArgument);    // out of range
  EXPECT_EQ(code({-1, 1}, 1), absl::StatusCode::kInvalidArgument);   // out of range
  EXPECT_EQ(code({}, 1), absl::StatusCode::kInvalidArgument);        // empty
  EXPECT_EQ(code({1, 2}, ~0u), absl::StatusCode::kInvalidArgument);  // no such id
  EXPECT_EQ(code({1, 2}, 1), absl::StatusCode::kOk);
  EXPECT_EQ(code({1, 2}, 1), absl::StatusCode::kOk);               // the same again
  EXPECT_EQ(code({0, 1}, 1), absl::StatusCode::kInvalidArgument);  // the id of another group

  auto pair = mesh.Group({1, 2}, 1);
  ASSERT_TRUE(pair.ok());
  std::vector<float> data(3);
  for (int position : {-1, 2}) {
    EXPECT_EQ((*pair)->Broadcast(absl::MakeSpan(data), position)->Wait().code(),
              absl::StatusCode::kInvalidArgument);
    EXPECT_EQ((*pair)->Send(data, position)->Wait().code(), absl::StatusCode::kInvalidArgument);
    EXPECT_EQ((*pair)->Recv(absl::MakeSpan(data), position)->Wait().code(),
              absl::StatusCode::kInvalidArgument);
  }
  EXPECT_EQ((*pair)->Send(data, 0)->Wait().code(), absl::StatusCode::kInvalidArgument);  // to itself
}

}  // namespace
}  // namespace sdp
