// All-reduce of 4 MB among ranks of one process: ours over loopback and over Gloo's connections, beside
// Gloo's own ring. What counts is the ratio: they take turns, so whatever else the machine does hits all
// alike.
#include <algorithm>
#include <chrono>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "benchmark/benchmark.h"
#include "common/base/check.h"
#include "gloo/allreduce.h"
#include "gloo/math.h"
#include "gloo/rendezvous/context.h"
#include "gloo/rendezvous/hash_store.h"
#include "gloo/transport/tcp/device.h"
#include "worker/averaging/gloo_mesh.h"
#include "worker/averaging/local_rendezvous.h"
#include "worker/averaging/loopback_mesh.h"

namespace sdp {
namespace {

constexpr int64_t kElements = 1024 * 1024;  // 4 MB of floats

// Seconds until every rank has returned from `body`, each on its own thread.
double SecondsOnEveryRank(int world_size, const std::function<void(Rank)>& body) {
  const auto start = std::chrono::steady_clock::now();
  std::vector<std::thread> threads;
  for (Rank rank = 0; rank < world_size; ++rank) threads.emplace_back([&body, rank] { body(rank); });
  for (std::thread& thread : threads) thread.join();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// Ours, over any meshes.
class Team {
 public:
  explicit Team(std::vector<std::unique_ptr<Mesh>> meshes) : meshes_(std::move(meshes)) {
    std::vector<Rank> ranks(meshes_.size());
    for (size_t i = 0; i < ranks.size(); ++i) ranks[i] = static_cast<Rank>(i);
    for (const auto& mesh : meshes_) groups_.push_back(*mesh->Group(ranks, 0));
    data_.assign(meshes_.size(), std::vector<float>(kElements, 1.0f));
  }

  double Seconds() {
    return SecondsOnEveryRank(static_cast<int>(meshes_.size()), [this](Rank rank) {
      const absl::Status status = groups_[rank]->AllReduce(absl::MakeSpan(data_[rank]))->Wait();
      SDP_CHECK(status.ok(), "all-reduce failed");
    });
  }

 private:
  std::vector<std::unique_ptr<Mesh>> meshes_;
  std::vector<std::unique_ptr<Communicator>> groups_;
  std::vector<std::vector<float>> data_;
};

std::vector<std::unique_ptr<Mesh>> GlooMeshes(int world_size) {
  std::vector<std::unique_ptr<Mesh>> meshes(world_size);
  AddressBook book;
  SecondsOnEveryRank(world_size, [&](Rank rank) {
    MeshOptions options;
    options.rank = rank;
    options.world_size = world_size;
    LocalRendezvous rendezvous(book, rank);
    auto mesh = ConnectGlooMesh(options, rendezvous);
    SDP_CHECK(mesh.ok(), "connecting failed");
    meshes[rank] = *std::move(mesh);
  });
  return meshes;
}

// Gloo's own collectives.
class GlooTeam {
 public:
  explicit GlooTeam(int world_size)
      : contexts_(world_size), data_(world_size, std::vector<float>(kElements, 1.0f)) {
    gloo::rendezvous::HashStore store;
    SecondsOnEveryRank(world_size, [&](Rank rank) {
      std::shared_ptr<gloo::transport::Device> device =
          gloo::transport::tcp::CreateDevice(gloo::transport::tcp::attr("127.0.0.1"));
      auto context = std::make_shared<gloo::rendezvous::Context>(rank, world_size);
      context->connectFullMesh(store, device);
      contexts_[rank] = context;
    });
  }

  double Seconds() {
    return SecondsOnEveryRank(static_cast<int>(contexts_.size()), [this](Rank rank) {
      gloo::AllreduceOptions options(contexts_[rank]);
      options.setOutput(data_[rank].data(), kElements);
      options.setAlgorithm(gloo::AllreduceOptions::Algorithm::RING);
      void (*sum)(void*, const void*, const void*, size_t) = &gloo::sum<float>;
      options.setReduceFunction(sum);
      gloo::allreduce(options);
    });
  }

 private:
  std::vector<std::shared_ptr<gloo::Context>> contexts_;
  std::vector<std::vector<float>> data_;
};

double Median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + values.size() / 2, values.end());
  return values[values.size() / 2];
}

void AllReduce4Mb(benchmark::State& state) {
  const int world_size = static_cast<int>(state.range(0));
  Team loopback(LoopbackMeshes(world_size, MeshOptions()));
  Team ours(GlooMeshes(world_size));
  GlooTeam gloo(world_size);
  std::vector<double> loopback_seconds, our_seconds, gloo_seconds;
  for (auto _ : state) {
    loopback_seconds.push_back(loopback.Seconds());
    our_seconds.push_back(ours.Seconds());
    gloo_seconds.push_back(gloo.Seconds());
    state.SetIterationTime(our_seconds.back());
  }
  state.counters["loopback_ms"] = 1000 * Median(loopback_seconds);
  state.counters["ours_ms"] = 1000 * Median(our_seconds);
  state.counters["gloo_ms"] = 1000 * Median(gloo_seconds);
  state.counters["ours_to_gloo"] = Median(our_seconds) / Median(gloo_seconds);
}
BENCHMARK(AllReduce4Mb)->ArgName("ranks")->DenseRange(2, 4)->Iterations(60)->UseManualTime();

}  // namespace
}  // namespace sdp

BENCHMARK_MAIN();
