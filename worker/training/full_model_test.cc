// The full model that no worker holds: its validation, its export, and what reads the export.
#include "worker/training/full_model.h"

#include <gtest/gtest.h>

#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "common/testing/temporary_folder.h"
#include "worker/checkpoint/model_reader.h"
#include "worker/models/plain_llama.h"
#include "worker/tools/text_generator.h"
#include "worker/training/sample_reader.h"
#include "worker/training/training_cluster.h"

namespace sdp {
namespace {

const std::vector<std::string> kHalf = {"1100", "0110", "0011", "1001"};

// The full model, assembled from the holders.
PlainParameters Assemble(TrainingCluster& cluster) {
  PlainParameters parameters;
  for (size_t i = 0; i < cluster.table().parameters.size(); ++i) {
    const auto values = cluster.Parameter(static_cast<int>(i));
    parameters[cluster.table().parameters[i].name] = std::vector<double>(values.begin(), values.end());
  }
  return parameters;
}

double PlainMeanLoss(TrainingCluster& cluster, const PlainParameters& parameters,
                     const std::vector<int>& layers, const std::vector<int64_t>& indices) {
  double sum = 0;
  for (const int64_t index : indices) {
    std::vector<int64_t> tokens(cluster.spec().model.seq_len + 1);
    EXPECT_TRUE(cluster.validation()->Read(index, absl::MakeSpan(tokens)).ok());
    sum += PlainLlamaLoss(cluster.spec().model, parameters, layers, tokens);
  }
  return sum / static_cast<double>(indices.size() * cluster.spec().model.seq_len);
}

std::vector<absl::StatusOr<EvaluationOutcome>> EvaluateAll(TrainingCluster& cluster) {
  return cluster.Each<absl::StatusOr<EvaluationOutcome>>(
      [&](Rank rank) { return cluster.trainer(rank).Evaluate(); });
}

TEST(EvaluationTest, IsThatOfTheModelAssembledFromAllHolders) {
  const std::vector<int> all_layers = {0, 1, 2, 3};
  for (const std::vector<std::string>& mask : {kHalf, {"1111"}, {"1111", "1111"}, {"1101", "0111", "1001"}}) {
    JobSpec spec = SmallJob();
    spec.batch.micro_sequences = 2;
    TrainingCluster cluster(spec, mask);
    for (int step = 0; step < 3; ++step) cluster.Round();
    const PlainParameters parameters = Assemble(cluster);
    const int world = cluster.world_size();
    std::vector<int64_t> all(cluster.validation()->sequences());
    std::iota(all.begin(), all.end(), 0);
    const double full_loss = PlainMeanLoss(cluster, parameters, all_layers, all);
    const auto outcomes = EvaluateAll(cluster);
    for (Rank rank = 0; rank < world; ++rank) {
      ASSERT_TRUE(outcomes[rank].ok()) << outcomes[rank].status();
      EXPECT_EQ(outcomes[rank]->step, 3);
      EXPECT_EQ(outcomes[rank]->tokens, 37 * spec.model.seq_len);
      EXPECT_NEAR(outcomes[rank]->full_loss, full_loss, 1e-5 * full_loss);
      EXPECT_EQ(outcomes[rank]->full_loss, outcomes[0]->full_loss);
      std::vector<int> layers;
      for (int layer = 0; layer < 4; ++layer) {
        if (cluster.plan().mask.holds(rank, layer)) layers.push_back(layer);
      }
      const double own =
          PlainMeanLoss(cluster, parameters, layers, EvenlySpaced(37, (37 + world - 1) / world));
      EXPECT_NEAR(outcomes[rank]->subnetwork_loss, own, 1e-5 * own);
    }
    // Training goes on as if nothing had been.
    cluster.Round();
    cluster.CommonHashes();
  }
}

TEST(EvaluationTest, TakesAsManySequencesAsAsked) {
  JobSpec spec = SmallJob();
  spec.evaluation.max_sequences = 3;  // fewer than ranks: one has none
  TrainingCluster cluster(spec, kHalf);
  const double expected = PlainMeanLoss(cluster, Assemble(cluster), {0, 1, 2, 3}, {0, 12, 24});
  for (const auto& outcome : EvaluateAll(cluster)) {
    ASSERT_TRUE(outcome.ok()) << outcome.status();
    EXPECT_EQ(outcome->tokens, 3 * spec.model.seq_len);
    EXPECT_NEAR(outcome->full_loss, expected, 1e-5 * expected);
  }
}

TEST(EvaluationTest, DoesNotDependOnBatchesAndChunks) {
  TrainingCluster cluster(SmallJob(), kHalf);
  const std::vector<int64_t> indices = EvenlySpaced(37, 0);
  const double expected = PlainMeanLoss(cluster, Assemble(cluster), {0, 1, 2, 3}, indices);
  std::vector<std::unique_ptr<Communicator>> worlds;
  for (Rank rank = 0; rank < 4; ++rank) worlds.push_back(*cluster.mesh(rank).Group({0, 1, 2, 3}, 99));
  for (const EvaluationRows at_once : {EvaluationRows{1, 1}, {2, 4}, {3, 7}, {4, 100}}) {
    for (const auto& loss : cluster.Each<absl::StatusOr<double>>([&](Rank rank) {
           SampleReader validation(cluster.validation(), cluster.spec().model.seq_len);
           return FullModelLoss(cluster.table(), cluster.plan(), rank, cluster.trainer(rank).subnetwork(),
                                validation, indices, at_once, *worlds[rank]);
         })) {
      ASSERT_TRUE(loss.ok()) << loss.status();
      EXPECT_NEAR(*loss, expected, 1e-5 * expected) << "chunks of " << at_once.chunk;
    }
  }
}

TEST(EvaluationTest, NeedsValidationData) {
  const JobSpec spec = SmallJob();
  const ParameterTable table = MakeParameterTable(spec.model);
  const auto trainer = SubnetworkTrainer::Create(
      {spec, table, PlanFor(spec, table, {"1111"}), 0, SmallDataset(9, spec.model.vocab, 1), nullptr});
  ASSERT_TRUE(trainer.ok());
  EXPECT_EQ((*trainer)->Evaluate().status().code(), absl::StatusCode::kFailedPrecondition);
}

using ExportResult = absl::StatusOr<std::vector<std::string>>;

TEST(ExportTest, ReadsBackAsItWas) {
  for (const bool tied : {false, true}) {
    JobSpec spec = SmallJob();
    spec.model.tied_embeddings = tied;
    TrainingCluster cluster(spec, kHalf);
    cluster.Round();
    TemporaryFolder folder;
    const std::string directory = folder / "new/model";
    const auto results =
        cluster.Each<ExportResult>([&](Rank rank) { return cluster.trainer(rank).Export(directory); });
    std::vector<std::string> files;
    for (const ExportResult& result : results) {
      ASSERT_TRUE(result.ok()) << result.status();
      files.insert(files.end(), result->begin(), result->end());
    }
    std::sort(files.begin(), files.end());
    std::vector<std::string> found;
    for (const auto& entry : std::filesystem::directory_iterator(directory)) {
      found.push_back(entry.path().filename());
    }
    std::sort(found.begin(), found.end());
    EXPECT_EQ(files, found) << "every file is somebody's, and nothing is left over";

    const auto reader = ModelReader::Open(directory);
    ASSERT_TRUE(reader.ok()) << reader.status();
    EXPECT_EQ((*reader)->spec().layers, spec.model.layers);
    EXPECT_EQ((*reader)->spec().tied_embeddings, tied);
    for (size_t i = 0; i < cluster.table().parameters.size(); ++i) {
      const Parameter& parameter = cluster.table().parameters[i];
      std::vector<float> values(parameter.elements());
      ASSERT_TRUE((*reader)->Read(parameter.name, absl::MakeSpan(values)).ok()) << parameter.name;
      EXPECT_EQ(absl::MakeConstSpan(values), cluster.Parameter(static_cast<int>(i))) << parameter.name;
      EXPECT_EQ((*reader)->Find(parameter.name)->shape, parameter.shape);
    }
  }
}

TEST(ExportTest, ReplacesAnEarlierExportOfAnotherNumberOfShards) {
  TemporaryFolder folder;
  const JobSpec spec = SmallJob();
  for (const std::vector<std::string>& mask : {std::vector<std::string>{"1111"}, kHalf, {"1111"}}) {
    TrainingCluster cluster(spec, mask);
    for (size_t step = 0; step < mask.size(); ++step) cluster.Round();
    for (const auto& result :
         cluster.Each<ExportResult>([&](Rank rank) { return cluster.trainer(rank).Export(folder.path()); })) {
      ASSERT_TRUE(result.ok()) << result.status();
    }
    const auto reader = ModelReader::Open(folder.path());
    ASSERT_TRUE(reader.ok()) << reader.status();
    std::vector<float> values(cluster.table().parameters[0].elements());
    ASSERT_TRUE((*reader)->Read(cluster.table().parameters[0].name, absl::MakeSpan(values)).ok());
    EXPECT_EQ(absl::MakeConstSpan(values), cluster.Parameter(0));
  }
}

TEST(ExportTest, AFolderThatCannotBeWrittenFailsOnAllRanks) {
  TemporaryFolder folder;
  std::filesystem::permissions(folder.path(),
                               std::filesystem::perms::owner_read | std::filesystem::perms::owner_exec);
  TrainingCluster cluster(SmallJob(), kHalf);
  const auto results = cluster.Each<ExportResult>([&](Rank rank) {
    const WithoutRoot as_a_user;
    return cluster.trainer(rank).Export(folder.path());
  });
  for (const ExportResult& result : results) {
    EXPECT_EQ(result.status().code(), absl::StatusCode::kPermissionDenied) << result.status();
    EXPECT_NE(result.status().message().find(folder.path()), std::string::npos) << result.status();
  }
  EXPECT_NE(results[2].status().message().find("rank 0"), std::string::npos) << results[2].status();
}

TEST(ExportTest, AFailureOfOneRankFailsAll) {
  TemporaryFolder folder;
  // Rank 2's file cannot take its name: a folder has it.
  std::filesystem::create_directory(folder / "model-00003-of-00004.safetensors");
  TrainingCluster cluster(SmallJob(), kHalf);
  const auto results =
      cluster.Each<ExportResult>([&](Rank rank) { return cluster.trainer(rank).Export(folder.path()); });
  for (const ExportResult& result : results) EXPECT_FALSE(result.ok());
  EXPECT_NE(results[2].status().message().find("model-00003"), std::string::npos) << results[2].status();
  EXPECT_NE(results[0].status().message().find("rank 2"), std::string::npos) << results[0].status();
  EXPECT_FALSE(std::filesystem::exists(folder / "config.json"));
}

TEST(ExportTest, RanksThatSeeDifferentFoldersAreTold) {
  TemporaryFolder shared;
  TemporaryFolder other;
  TrainingCluster cluster(SmallJob(), kHalf);
  const auto results = cluster.Each<ExportResult>(
      [&](Rank rank) { return cluster.trainer(rank).Export(rank == 3 ? other.path() : shared.path()); });
  for (const ExportResult& result : results) {
    EXPECT_EQ(result.status().code(), absl::StatusCode::kNotFound) << result.status();
  }
  EXPECT_NE(results[3].status().message().find("one shared folder"), std::string::npos);
  EXPECT_NE(results[0].status().message().find("rank 3"), std::string::npos);
}

TEST(GenerateTest, GoesOnFromThePromptBeyondTheSequenceLength) {
  JobSpec spec = SmallJob();
  spec.model.vocab = 256;
  TrainingCluster cluster(spec, {"1100", "0111"});
  TemporaryFolder folder;
  for (const auto& result :
       cluster.Each<ExportResult>([&](Rank rank) { return cluster.trainer(rank).Export(folder.path()); })) {
    ASSERT_TRUE(result.ok()) << result.status();
  }
  const auto generator = TextGenerator::Load(folder.path());
  ASSERT_TRUE(generator.ok()) << generator.status();
  const auto generate = [&](double temperature, uint64_t seed) {
    const auto text = (*generator)->Generate("In the", {40, temperature, seed});
    EXPECT_TRUE(text.ok()) << text.status();
    EXPECT_EQ(text->size(), 46u);
    EXPECT_EQ(text->substr(0, 6), "In the");
    return *text;
  };
  EXPECT_EQ(generate(1.0, 1), generate(1.0, 1));
  EXPECT_NE(generate(1.0, 1), generate(1.0, 2));
  EXPECT_EQ(generate(0.0, 1), generate(0.0, 2));

  // The first byte of temperature 0 is the likeliest of plain loops.
  const auto logits =
      PlainLlamaLogits(spec.model, Assemble(cluster), {0, 1, 2, 3}, {'I', 'n', ' ', 't', 'h', 'e'}).back();
  EXPECT_EQ(static_cast<unsigned char>(generate(0.0, 0)[6]),
            std::max_element(logits.begin(), logits.end()) - logits.begin());
  EXPECT_EQ((*generator)->Generate("", {}).status().code(), absl::StatusCode::kInvalidArgument);
}

TEST(GenerateTest, RefusesAModelOfOtherTokens) {
  TrainingCluster cluster(SmallJob(), {"1111"});
  TemporaryFolder folder;
  ASSERT_TRUE(cluster.trainer(0).Export(folder.path()).ok());
  const auto generator = TextGenerator::Load(folder.path());
  EXPECT_EQ(generator.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_NE(generator.status().message().find("32 tokens"), std::string::npos) << generator.status();
}

}  // namespace
}  // namespace sdp
