// All workers of a small job in one process, for tests: a trainer and a thread for each rank.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "worker/averaging/loopback_mesh.h"
#include "worker/training/small_job.h"
#include "worker/training/subnetwork_trainer.h"

namespace sdp {

class TrainingCluster {
 public:
  // `wrap` may put something in front of a rank's mesh.
  using WrapMesh = std::function<std::unique_ptr<Mesh>(std::unique_ptr<Mesh>)>;
  TrainingCluster(const JobSpec& spec, const std::vector<std::string>& mask, std::vector<int> sequences = {},
                  const WrapMesh& wrap = nullptr)
      : spec_(spec),
        table_(MakeParameterTable(spec.model)),
        plan_(PlanFor(spec, table_, mask, std::move(sequences))),
        train_(SmallDataset(300, spec.model.vocab, 1)),
        validation_(SmallDataset(37, spec.model.vocab, 2)) {
    MeshOptions options;
    options.collective_timeout = absl::Seconds(20);
    meshes_ = LoopbackMeshes(plan_.world_size(), options);
    for (Rank rank = 0; rank < plan_.world_size(); ++rank) {
      if (wrap) meshes_[rank] = wrap(std::move(meshes_[rank]));
      auto trainer = SubnetworkTrainer::Create({spec, table_, plan_, rank, train_, validation_});
      EXPECT_TRUE(trainer.ok()) << trainer.status();
      trainers_.push_back(*std::move(trainer));
      const absl::Status connected = trainers_.back()->Connect(*meshes_[rank]);
      EXPECT_TRUE(connected.ok()) << connected;
    }
  }

  ~TrainingCluster() {
    // A trainer waits for what is under way, which only ends when nobody waits for a rank that has failed.
    for (auto& mesh : meshes_) mesh->Abort("the test is over");
    trainers_.clear();
  }

  int world_size() const { return plan_.world_size(); }
  const JobSpec& spec() const { return spec_; }
  const ParameterTable& table() const { return table_; }
  const Plan& plan() const { return plan_; }
  const std::shared_ptr<const TokenDataset>& train() const { return train_; }
  const std::shared_ptr<const TokenDataset>& validation() const { return validation_; }
  SubnetworkTrainer& trainer(Rank rank) { return *trainers_[rank]; }
  Mesh& mesh(Rank rank) { return *meshes_[rank]; }

  // Runs `body` for every rank at once; what each returned.
  template <typename Result>
  std::vector<Result> Each(const std::function<Result(Rank)>& body) {
    std::vector<Result> results(world_size());
    std::vector<std::thread> threads;
    for (Rank rank = 0; rank < world_size(); ++rank) {
      threads.emplace_back([&results, &body, rank] { results[rank] = body(rank); });
    }
    for (std::thread& thread : threads) thread.join();
    return results;
  }

  // One round on all ranks, which must succeed and give the same outcome everywhere.
  RoundOutcome Round() {
    const auto outcomes =
        Each<absl::StatusOr<RoundOutcome>>([this](Rank rank) { return trainers_[rank]->TrainRound(); });
    for (const auto& outcome : outcomes) {
      EXPECT_TRUE(outcome.ok()) << outcome.status();
      if (!outcome.ok()) return {};
      EXPECT_EQ(outcome->steps.size(), outcomes[0]->steps.size());
      for (size_t i = 0; i < outcome->steps.size(); ++i) {
        const CommittedStep& step = outcome->steps[i];
        const CommittedStep& first = outcomes[0]->steps[i];
        EXPECT_EQ(step.step, first.step);
        EXPECT_TRUE(step.loss == first.loss || (step.loss != step.loss && first.loss != first.loss));
        EXPECT_EQ(step.gradient_norm, first.gradient_norm);
        EXPECT_EQ(step.tokens, first.tokens);
        EXPECT_EQ(step.skipped, first.skipped);
      }
    }
    return *outcomes[0];
  }

  // Checks that all holders of a component have the same parameters and moments; their hashes by component.
  std::vector<uint64_t> CommonHashes() {
    std::vector<uint64_t> hashes(table_.components.size());
    for (size_t component = 0; component < hashes.size(); ++component) {
      bool first = true;
      for (Rank rank = 0; rank < world_size(); ++rank) {
        if (!plan_.Holds(rank, table_.components[component])) continue;
        const uint64_t hash = trainers_[rank]->ComponentHash(static_cast<int>(component));
        if (first) hashes[component] = hash;
        EXPECT_EQ(hash, hashes[component]) << table_.components[component].name << " on rank " << rank;
        first = false;
      }
    }
    return hashes;
  }

  // Values of a parameter on its first holder.
  absl::Span<const float> Parameter(int parameter) {
    const Component& component = table_.components[table_.slices[parameter].component];
    Rank rank = 0;
    while (!plan_.Holds(rank, component)) ++rank;
    return trainers_[rank]->subnetwork().slice(parameter).parameters;
  }

 private:
  const JobSpec spec_;
  const ParameterTable table_;
  const Plan plan_;
  const std::shared_ptr<const TokenDataset> train_;
  const std::shared_ptr<const TokenDataset> validation_;
  std::vector<std::unique_ptr<Mesh>> meshes_;
  std::vector<std::unique_ptr<SubnetworkTrainer>> trainers_;
};

}  // namespace sdp
