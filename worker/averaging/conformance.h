// What every Mesh must do. An implementation runs the suite by instantiating it with a factory:
//   INSTANTIATE_TEST_SUITE_P(Loopback, MeshConformance, ::testing::Values(&LoopbackMeshes));
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "gtest/gtest.h"
#include "worker/averaging/communicator.h"

namespace sdp {

using Meshes = std::vector<std::unique_ptr<Mesh>>;

// Makes the connected meshes of all ranks of a world. Of `options` the timeouts count.
using MeshFactory = Meshes (*)(int world_size, const MeshOptions& options);

class MeshConformance : public ::testing::TestWithParam<MeshFactory> {
 protected:
  static Meshes Make(int world_size, absl::Duration collective_timeout = absl::Minutes(2));
};

// All ranks, from 0.
std::vector<Rank> AllRanks(int world_size);

// Calls body(rank) for every rank, each on its own thread, and waits for all.
void OnEveryRank(int world_size, const std::function<void(Rank)>& body);

// Small whole numbers, different for each rank and element, so that every order of summing is exact.
std::vector<float> Contribution(Rank rank, int64_t elements);

// The plain reference: element-wise sum of the ranks' contributions.
std::vector<float> SumOfContributions(const std::vector<Rank>& ranks, int64_t elements);

}  // namespace sdp
