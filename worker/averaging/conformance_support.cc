#include <thread>

#include "worker/averaging/conformance.h"

namespace sdp {

Meshes MeshConformance::Make(int world_size, absl::Duration collective_timeout) {
  MeshOptions options;
  options.collective_timeout = collective_timeout;
  Meshes meshes = GetParam()(world_size, options);
  EXPECT_EQ(meshes.size(), static_cast<size_t>(world_size));
  return meshes;
}

std::vector<Rank> AllRanks(int world_size) {
  std::vector<Rank> ranks(world_size);
  for (Rank rank = 0; rank < world_size; ++rank) ranks[rank] = rank;
  return ranks;
}

void OnEveryRank(int world_size, const std::function<void(Rank)>& body) {
  std::vector<std::thread> threads;
  for (Rank rank = 0; rank < world_size; ++rank) threads.emplace_back([&body, rank] { body(rank); });
  for (std::thread& thread : threads) thread.join();
}

std::vector<float> Contribution(Rank rank, int64_t elements) {
  std::vector<float> values(elements);
  for (int64_t i = 0; i < elements; ++i) values[i] = static_cast<float>((rank + 1) * 100 + i % 97);
  return values;
}

std::vector<float> SumOfContributions(const std::vector<Rank>& ranks, int64_t elements) {
  std::vector<float> sum(elements, 0.0f);
  for (Rank rank : ranks) {
    const std::vector<float> values = Contribution(rank, elements);
    for (int64_t i = 0; i < elements; ++i) sum[i] += values[i];
  }
  return sum;
}

}  // namespace sdp
