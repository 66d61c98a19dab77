#include "common/wire/test_specs.h"

#include <string>
#include <vector>

namespace sdp {
namespace {

using rc::gen::inRange;

template <typename T>
T OneOf(std::vector<T> values) {
  return *rc::gen::elementOf(std::move(values));
}

double Positive() { return *inRange(1, 1'000'000) * OneOf<double>({1e-12, 1e-6, 1e-3, 1.0 / 3, 1, 7e5}); }
double Unit() { return *inRange(0, 1000) / 1001.0; }

std::string AnyPath() {
  return "/" + *rc::gen::container<std::string>(rc::gen::element('a', 'Z', '0', '/', ' ', '"', '\'', ':', '#',
                                                                 '\n', '\t', '\\', '-', '{', '~', '.'));
}

LlamaSpec AnyModel() {
  LlamaSpec model;
  model.layers = *inRange(1, 20);
  model.kv_heads = *inRange(1, 5);
  model.heads = model.kv_heads * *inRange(1, 5);
  model.hidden = model.heads * 2 * *inRange(1, 65);
  model.ffn = *inRange(1, 5000);
  model.vocab = *inRange(2, 100000);
  model.seq_len = *inRange(1, 5000);
  model.rope_theta = Positive();
  model.norm_eps = Positive();
  model.tied_embeddings = *rc::gen::arbitrary<bool>();
  return model;
}

MaskingSpec AnyMasking(const LlamaSpec& model, const WorkersSpec& workers) {
  MaskingSpec masking;
  masking.seed = *rc::gen::arbitrary<uint64_t>();
  masking.generator =
      OneOf<MaskGenerator>({MaskGenerator::kBalanced, MaskGenerator::kFull, MaskGenerator::kExplicit,
                            MaskGenerator::kRandom, MaskGenerator::kCyclic});
  masking.allow_disconnected = *rc::gen::arbitrary<bool>();
  masking.max_holder_sets = *inRange(0, 10);
  if (masking.generator == MaskGenerator::kExplicit && workers.min != workers.max) {
    masking.generator = MaskGenerator::kFull;
  }
  if (masking.generator != MaskGenerator::kExplicit && masking.generator != MaskGenerator::kFull) {
    masking.active_ratio = 1.0 / workers.min + Unit() * (1 - 1.0 / workers.min);
  }
  if (masking.generator != MaskGenerator::kExplicit) return masking;
  int ones = 0;
  for (int rank = 0; rank < workers.max; ++rank) {
    masking.matrix.emplace_back();
    for (int block = 0; block < model.layers; ++block) {
      masking.matrix.back().push_back(block % workers.max == rank || *rc::gen::arbitrary<bool>());
      ones += masking.matrix.back().back();
    }
  }
  masking.active_ratio = static_cast<double>(ones) / (workers.max * model.layers);
  return masking;
}

JobSpec DrawJobSpec() {
  JobSpec spec;
  spec.display_name = OneOf<std::string>({"job", "true", "1.5", "a-b_c.d", "null"});
  spec.model = AnyModel();
  spec.data.train_shards = {AnyPath()};
  for (int i = *inRange(0, 3); i > 0; --i) spec.data.train_shards.push_back(AnyPath());
  for (int i = *inRange(0, 3); i > 0; --i) spec.data.validation_shards.push_back(AnyPath());
  spec.data.format = OneOf<DataFormat>(
      {DataFormat::kDetect, DataFormat::kLlmc, DataFormat::kNanogpt, DataFormat::kMegatron});
  spec.workers.min = *inRange(1, 6);
  spec.workers.max = spec.workers.min + *inRange(0, 3);
  spec.masking = AnyMasking(spec.model, spec.workers);
  spec.workers.memory_budget_bytes = OneOf<int64_t>({0, 1, 1000, int64_t{24} << 30, 80'000'000'000});
  for (int i = *inRange(0, 3); i > 0; --i) {
    spec.workers.profiles.push_back(
        {"gpu-" + std::to_string(i), *inRange<int64_t>(0, 1 << 30), OneOf<double>({0, 0.5, 1, 2.25})});
  }
  if (*rc::gen::arbitrary<bool>()) {
    spec.averaging.mode = AveragingMode::kParameters;
    spec.averaging.every_steps = *inRange(1, 101);
  }
  spec.optimizer.adamw = {Positive(), Unit(), Unit(), Positive(), Unit() * 10};
  spec.optimizer.clip_norm = Unit() * 10;
  spec.optimizer.schedule.final_ratio = Unit();
  spec.batch.global_sequences = spec.workers.max + *inRange(0, 1000);
  spec.batch.micro_sequences = *inRange(0, spec.batch.global_sequences + 1);
  if (*rc::gen::arbitrary<bool>()) {
    spec.stop_steps = *inRange(1, 100000);
  } else {
    spec.stop_tokens = *inRange<int64_t>(1, 1'000'000'000'000);
  }
  const int64_t warmup_limit = std::min<int64_t>(spec.total_steps(), 1000) + 1;
  spec.optimizer.schedule.warmup_steps = static_cast<int>(*inRange<int64_t>(0, warmup_limit));
  if (!spec.data.validation_shards.empty()) spec.evaluation.interval_steps = *inRange(0, 1000);
  spec.evaluation.max_sequences = *inRange(0, 1000);
  spec.output_directory = AnyPath();
  spec.seed = *rc::gen::arbitrary<uint64_t>();
  return spec;
}

}  // namespace

rc::Gen<JobSpec> AnyJobSpec() { return rc::gen::exec(DrawJobSpec); }

}  // namespace sdp
