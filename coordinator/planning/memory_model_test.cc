#include "coordinator/planning/memory_model.h"

#include <string>
#include <utility>
#include <vector>

#include "coordinator/planning/make_plan.h"
#include "gtest/gtest.h"

namespace sdp {
namespace {

constexpr int64_t kScalars = 256;  // what the model allows for them at most

// h 96, k 48, f 160, v 500, 4 heads of 24; 70 tokens a sequence.
LlamaSpec Model() {
  LlamaSpec model;
  model.layers = 8;
  model.hidden = 96;
  model.heads = 4;
  model.kv_heads = 2;
  model.ffn = 160;
  model.vocab = 500;
  model.seq_len = 70;
  return model;
}

MemoryInputs Inputs(int blocks, int rows) {
  MemoryInputs inputs;
  inputs.elements = 1000;
  inputs.blocks = blocks;
  inputs.rows = rows;
  inputs.threads = 1;
  return inputs;
}

Plan PlanOf(const JobSpec& spec, int workers) {
  std::vector<PlanMember> members(workers);
  for (Rank rank = 0; rank < workers; ++rank) members[rank].worker = WorkerName("w" + std::to_string(rank));
  return MakePlan(spec, MakeParameterTable(spec.model), std::move(members), Epoch(1), 0).value();
}

TEST(MemoryModelTest, WhatLivesFromStepToStepByHand) {
  const WorkerMemory memory = PredictMemory(Model(), Inputs(0, 0));
  EXPECT_EQ(memory.parameters, 4000);
  EXPECT_EQ(memory.gradients, 4000);
  EXPECT_EQ(memory.moments, 8000);
  EXPECT_EQ(memory.buffers, 2 * 4 * 70 * 24);
  EXPECT_EQ(memory.total(), 16000 + memory.buffers);
}

TEST(MemoryModelTest, PeakOfTrainingByHand) {
  const WorkerMemory memory = PredictMemory(Model(), Inputs(2, 4));
  constexpr int64_t kTokens = 4 * 70;
  // Norms keep 2 x 97 beside their outputs; outputs of norms, attention, its sum and the block: 5 x 96;
  // rotated queries 96, keys and values 2 x 48, a number for each head, 4 x 160.
  constexpr int64_t kBlock = 2 * 97 + 5 * 96 + 96 + 2 * 48 + 4 + 4 * 160;
  EXPECT_EQ(memory.activations, 4 * kTokens * (96 + 2 * kBlock + 97 + 96));
  EXPECT_EQ(memory.logits_and_loss, 4 * kTokens * 3 * 500);
  EXPECT_EQ(memory.workspace, kScalars);
}

TEST(MemoryModelTest, ManyLogitsAndFewTokensPeakWhereTheHeadsGradientIsMade) {
  LlamaSpec model = Model();
  model.vocab = 100000;
  model.seq_len = 1;
  const WorkerMemory memory = PredictMemory(model, Inputs(1, 2));
  EXPECT_EQ(memory.logits_and_loss, 4 * 2 * 100000);
  EXPECT_EQ(memory.workspace, 4 * (96 * 100000 + 2 * 96) + kScalars);
  // Tied, three of that size meet: the head's, the look-up's and their sum.
  model.tied_embeddings = true;
  EXPECT_EQ(PredictMemory(model, Inputs(1, 2)).workspace, 4 * 3 * 96 * 100000 + kScalars);
}

TEST(MemoryModelTest, GrowsWithEverything) {
  const auto total = [](const MemoryInputs& inputs) { return PredictMemory(Model(), inputs).total(); };
  const MemoryInputs inputs = Inputs(2, 4);
  EXPECT_GT(total(Inputs(3, 4)), total(inputs));
  EXPECT_GT(total(Inputs(2, 5)), total(inputs));
  MemoryInputs other = inputs;
  other.elements += 1;
  EXPECT_EQ(total(other), total(inputs) + 16);
  other = inputs;
  other.threads = 1000;  // enough for the fused attention's scratch to be the peak
  EXPECT_GT(total(other), total(inputs));
}

TEST(MemoryModelTest, EvaluationOfReceivedBlocksCanBeThePeak) {
  MemoryInputs inputs = Inputs(1, 1);
  inputs.evaluation_rows = inputs.evaluation_kept_rows = 1;
  inputs.received_elements = 10'000'000;
  const WorkerMemory memory = PredictMemory(Model(), inputs);
  EXPECT_EQ(memory.buffers, 2 * 4 * 70 * 24 + 40'000'000);
  EXPECT_EQ(memory.activations, 4 * 70 * 96);
}

TEST(MemoryModelTest, InputsFollowThePlan) {
  JobSpec spec;
  spec.model = Model();
  spec.batch.global_sequences = 11;
  spec.masking.active_ratio = 0.5;
  const Plan plan = PlanOf(spec, 4);
  const std::vector<MemoryInputs> by_rank = MakeMemoryInputs(spec, MakeParameterTable(spec.model), plan);
  ASSERT_EQ(by_rank.size(), 4u);
  for (Rank rank = 0; rank < 4; ++rank) {
    EXPECT_EQ(by_rank[rank].elements, plan.summary.workers[rank].parameters);
    EXPECT_EQ(by_rank[rank].blocks, 4);
    EXPECT_EQ(by_rank[rank].rows, rank < 3 ? 3 : 2);
    EXPECT_EQ(by_rank[rank].threads, kAssumedThreads);
    EXPECT_EQ(by_rank[rank].evaluation_rows, 0);  // no validation shards
  }
}

TEST(MemoryModelTest, InputsOfAnEvaluation) {
  JobSpec spec;
  spec.model = Model();
  spec.batch.global_sequences = 16;
  spec.batch.micro_sequences = 3;
  spec.masking.active_ratio = 0.5;
  spec.data.validation_shards = {"validation"};
  const ParameterTable table = MakeParameterTable(spec.model);
  MemoryInputs inputs = MakeMemoryInputs(spec, table, PlanOf(spec, 4))[0];
  EXPECT_EQ(inputs.rows, 3);
  EXPECT_EQ(inputs.evaluation_rows, 3);
  // By computing, in threes: 4 rows x 6 (4 x 80544 + 48000) / (2 x 80544) = 55.2. (By activations 106.6: half
  // of 3 rows of 4 blocks' 1508 floats, the embedding's 2 and the head's 788, over 96.)
  EXPECT_EQ(inputs.evaluation_kept_rows, 54);
  EXPECT_EQ(inputs.received_elements, 2 * table.components[1].elements);

  spec.evaluation.max_sequences = 7;  // at most 2 on a worker
  inputs = MakeMemoryInputs(spec, table, PlanOf(spec, 4))[0];
  EXPECT_EQ(inputs.evaluation_rows, 2);
  EXPECT_EQ(inputs.evaluation_kept_rows, 2);

  spec.masking.active_ratio = 1;  // everyone has everything
  EXPECT_EQ(MakeMemoryInputs(spec, table, PlanOf(spec, 4))[0].received_elements, 0);
}

// The largest model and batch that a spec can name.
TEST(MemoryModelTest, NothingOverflows) {
  JobSpec spec;
  constexpr int kMost = 1 << 20;
  spec.model.layers = 1024;
  spec.model.hidden = spec.model.ffn = spec.model.vocab = spec.model.seq_len = kMost;
  spec.model.heads = spec.model.kv_heads = 1;
  spec.batch.global_sequences = kMost;
  spec.data.validation_shards = {"/data/validation.bin"};
  const Plan plan = PlanOf(spec, 1);
  const WorkerMemory& memory = plan.summary.workers[0].memory;
  for (const int64_t part : {memory.parameters, memory.gradients, memory.moments, memory.activations,
                             memory.logits_and_loss, memory.workspace, memory.buffers}) {
    EXPECT_GE(part, 0);
  }
  EXPECT_GE(memory.total(), int64_t{1} << 60);

  spec.workers.memory_budget_bytes = int64_t{1} << 50;
  std::vector<PlanMember> members(1);
  members[0].worker = WorkerName("w");
  EXPECT_EQ(MakePlan(spec, MakeParameterTable(spec.model), members, Epoch(1), 0).status().code(),
            absl::StatusCode::kFailedPrecondition);
}

}  // namespace
}  // namespace sdp
