// The planner's memory prediction against the real trainer's allocator, over a grid of models and jobs.
#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "ATen/Parallel.h"
#include "absl/strings/str_format.h"
#include "coordinator/planning/make_plan.h"
#include "coordinator/planning/memory_model.h"
#include "gtest/gtest.h"
#include "tests/immediate_mesh.h"
#include "worker/training/small_job.h"
#include "worker/training/trainer.h"

namespace sdp {
namespace {

constexpr int kWorkers = 8;
// Half of the workers have one more sequence of this batch than the others.
constexpr int kUnevenBatch = 20;
// The promise holds from this measurement on: at a few KiB the fixed allowance for scalars would be over 8%.
constexpr int64_t kSmallest = 64 << 10;
constexpr double kAllowed = 1.08;

struct ModelCase {
  const char* name;
  int layers, hidden, heads, kv_heads, ffn, vocab, seq_len;
  bool tied;
};

const ModelCase kModels[] = {
    {"plain", 8, 64, 4, 4, 172, 300, 64, false},
    {"plain tied", 8, 64, 4, 4, 172, 300, 64, true},
    {"grouped queries", 8, 96, 6, 2, 256, 1000, 48, false},
    {"one key head", 8, 64, 8, 1, 160, 256, 100, true},
    {"heavy head", 8, 32, 2, 2, 88, 12000, 32, false},
    {"heavy tied head", 8, 32, 2, 2, 88, 12000, 32, true},
    {"heavy head, few tokens", 8, 128, 4, 2, 256, 6000, 6, false},
    {"heavy tied head, few tokens", 8, 128, 4, 2, 256, 6000, 6, true},
    {"long", 8, 32, 2, 2, 88, 128, 800, false},
    {"mid length", 8, 32, 2, 1, 88, 128, 250, true},
    {"wide feed-forward", 8, 64, 4, 4, 640, 200, 40, false},
    {"narrow feed-forward", 8, 128, 2, 2, 24, 200, 24, false},
    {"deep", 16, 48, 4, 2, 128, 100, 48, true},
    {"parameters only", 8, 160, 4, 4, 432, 128, 4, false},
};

struct Job {
  std::string name;
  JobSpec spec;
  Rank rank = 0;
  int threads = 1;
};

// Every model at every C; the other dimensions take turns, each at its own pace.
std::vector<Job> Grid() {
  std::vector<Job> jobs;
  int i = 0;
  for (const ModelCase& model : kModels) {
    for (const double active_ratio : {1.0, 0.75, 0.5, 0.25}) {
      Job job;
      JobSpec& spec = job.spec;
      spec = SmallJob();
      spec.model = {model.layers, model.hidden,  model.heads, model.kv_heads, model.ffn,
                    model.vocab,  model.seq_len, 10000.0,     1e-5,           model.tied};
      spec.masking.active_ratio = active_ratio;
      spec.batch.global_sequences = i % 3 == 0 ? kUnevenBatch : i % 3 == 1 ? 8 : 32;
      spec.batch.micro_sequences = i % 5 < 3 ? 0 : i % 5 - 2;
      if (i % 4 == 3) spec.averaging = {AveragingMode::kParameters, 2};
      // An evaluation can only be the peak where activations are small beside a block.
      if (i % 4 == 2 || model.seq_len < 8) spec.data.validation_shards = {"validation"};
      if (i % 7 == 6) spec.evaluation.max_sequences = 11;
      job.rank = i % kWorkers;
      job.threads = i % 9 == 8 ? 3 : 1;
      // Enough for the fused attention's scratch to be at the peak.
      if (model.seq_len == 800 && active_ratio < 0.5) job.threads = 12;
      job.name = absl::StrFormat(
          "%s, C %g, batch %d/%d, %s%s, rank %d, threads %d", model.name, active_ratio,
          spec.batch.global_sequences, spec.batch.micro_sequences, i % 4 == 3 ? "parameters" : "gradients",
          spec.data.validation_shards.empty() ? "" : ", validated", job.rank, job.threads);
      jobs.push_back(std::move(job));
      ++i;
    }
    ++i;  // so that no dimension keeps step with C
  }
  return jobs;
}

Plan PlanOf(const Job& job, const ParameterTable& table) {
  std::vector<PlanMember> members(kWorkers);
  for (Rank rank = 0; rank < kWorkers; ++rank) {
    members[rank].worker = WorkerName("w" + std::to_string(rank));
    members[rank].profile.threads = job.threads;
  }
  return MakePlan(job.spec, table, std::move(members), Epoch(1), 0).value();
}

// Peak of a round (of one step, or of two between averages of parameters) and an evaluation.
int64_t Measure(const Job& job, const ParameterTable& table, const Plan& plan) {
  at::set_num_threads(job.threads);
  const JobSpec& spec = job.spec;
  std::shared_ptr<const TokenDataset> validation;
  if (!spec.data.validation_shards.empty()) {
    // Just enough that every rank keeps as many hidden states as it may.
    const int64_t kept = MakeMemoryInputs(spec, table, plan)[job.rank].evaluation_kept_rows;
    validation = SmallDataset(kWorkers * kept, spec.model.vocab, 2);
  }
  auto trainer =
      Trainer::Create({spec, table, plan, job.rank, SmallDataset(300, spec.model.vocab, 1), validation});
  EXPECT_TRUE(trainer.ok()) << trainer.status();
  ImmediateMesh mesh(job.rank, kWorkers);
  EXPECT_TRUE((*trainer)->Connect(mesh).ok());
  EXPECT_TRUE((*trainer)->TrainRound().ok());
  if (validation != nullptr) {
    EXPECT_TRUE((*trainer)->Evaluate().ok());
  }
  return (*trainer)->stats().peak_tensor_bytes;
}

TEST(MemoryPrediction, HoldsOverTheGrid) {
  std::printf("%9s %9s %7s  %s\n", "predicted", "measured", "ratio", "job (bytes in KiB)");
  for (const Job& job : Grid()) {
    const ParameterTable table = MakeParameterTable(job.spec.model);
    const Plan plan = PlanOf(job, table);
    const int64_t predicted = plan.summary.workers[job.rank].memory.total();
    const int64_t measured = Measure(job, table, plan);
    const double ratio = static_cast<double>(predicted) / static_cast<double>(measured);
    std::printf("%9.1f %9.1f %7.4f  %s\n", static_cast<double>(predicted) / 1024,
                static_cast<double>(measured) / 1024, ratio, job.name.c_str());
    ASSERT_GE(measured, kSmallest) << job.name;
    EXPECT_GE(predicted, measured) << job.name;
    EXPECT_LE(ratio, kAllowed) << job.name;
  }
}

}  // namespace
}  // namespace sdp
