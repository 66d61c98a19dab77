#include <cstdint>
#include <limits>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/base/quantities.h"
#include "common/wire/field_checks.h"
#include "common/wire/unknown_fields.h"
#include "common/wire/wire.h"

namespace sdp {
namespace {

// Bounds that keep every count of the system (elements, bytes, tokens) far inside 64 bits.
constexpr int64_t kMaxLayers = 1024;
constexpr int64_t kMaxWidth = 1 << 20;
constexpr int64_t kMaxSequences = 1 << 20;
constexpr int64_t kMaxWorkers = 1024;
constexpr int64_t kMaxEverySteps = 10000;
constexpr int64_t kMaxSteps = 1'000'000'000;
constexpr int64_t kMaxTokens = 1'000'000'000'000'000'000;
constexpr int64_t kMaxInt32 = std::numeric_limits<int32_t>::max();

bool NotNegative(double value) { return value >= 0; }
bool DecayRate(double value) { return value >= 0 && value < 1; }
bool UnitInterval(double value) { return value >= 0 && value <= 1; }

LlamaSpec CheckModel(const v1::JobSpec& proto, FieldChecks& checks) {
  LlamaSpec model;
  if (!proto.model().has_llama()) {
    checks.Add(proto.has_model() ? "model.llama" : "model", "is required: a model of the family llama");
    return model;
  }
  const v1::LlamaSpec& llama = proto.model().llama();
  const std::string at = "model.llama.";
  model.layers = checks.Required(at + "layers", llama.layers(), 1, kMaxLayers);
  model.hidden = checks.Required(at + "hidden", llama.hidden(), 2, kMaxWidth);
  model.heads = checks.Required(at + "heads", llama.heads(), 1, kMaxWidth);
  model.kv_heads = checks.OrDefault(at + "kv_heads", llama.kv_heads(), model.heads, 1, kMaxWidth);
  model.ffn = checks.Required(at + "ffn", llama.ffn(), 1, kMaxWidth);
  model.vocab = checks.Required(at + "vocab", llama.vocab(), 2, kMaxWidth);
  model.seq_len = checks.Required(at + "seq_len", llama.seq_len(), 1, kMaxWidth);
  model.rope_theta = checks.PositiveOrDefault(at + "rope_theta", llama.rope_theta(), model.rope_theta);
  model.norm_eps = checks.PositiveOrDefault(at + "norm_eps", llama.norm_eps(), model.norm_eps);
  model.tied_embeddings = llama.tied_embeddings();
  if (checks.Wrong(at + "heads")) return model;
  if (!checks.Wrong(at + "hidden")) {
    if (model.hidden % model.heads != 0) {
      checks.Add(at + "hidden",
                 absl::StrCat("is ", model.hidden, "; must be a multiple of heads (", model.heads, ")"));
    } else if (model.head_dim() % 2 != 0) {
      checks.Add(at + "hidden", absl::StrCat("is ", model.hidden, "; hidden / heads is ", model.head_dim(),
                                             " and must be even, for rotary positions"));
    }
  }
  if (!checks.Wrong(at + "kv_heads") && model.heads % model.kv_heads != 0) {
    checks.Add(at + "kv_heads",
               absl::StrCat("is ", model.kv_heads, "; must divide heads (", model.heads, ")"));
  }
  return model;
}

DataSpec CheckData(const v1::DataSpec& proto, FieldChecks& checks) {
  DataSpec data;
  if (proto.train_shards().empty()) {
    checks.Add("data.train_shards", "is required: at least one file to train on, by its absolute path");
  }
  for (int i = 0; i < proto.train_shards_size(); ++i) {
    data.train_shards.push_back(
        checks.AbsolutePath(absl::StrCat("data.train_shards[", i, "]"), proto.train_shards(i)));
  }
  for (int i = 0; i < proto.validation_shards_size(); ++i) {
    data.validation_shards.push_back(
        checks.AbsolutePath(absl::StrCat("data.validation_shards[", i, "]"), proto.validation_shards(i)));
  }
  data.format = checks.Known("data.format", kDataFormats, proto.format());
  return data;
}

// Bytes as in "24GiB"; 0 when the field is empty.
int64_t CheckBytes(const std::string& field, const std::string& text, FieldChecks& checks) {
  if (text.empty()) return 0;
  const absl::StatusOr<int64_t> bytes = ParseBytes(text);
  if (!bytes.ok()) checks.Add(field, std::string(bytes.status().message()));
  return bytes.value_or(0);
}

std::vector<NamedWorkerProfile> CheckProfiles(const v1::WorkersSpec& proto, FieldChecks& checks) {
  std::vector<NamedWorkerProfile> profiles;
  std::set<std::string> names;
  for (int i = 0; i < proto.profiles_size(); ++i) {
    const v1::WorkerProfile& profile = proto.profiles(i);
    const std::string field = absl::StrCat("workers.profiles[", i, "]");
    if (profile.worker().empty()) {
      checks.Add(field + ".worker", "is required: the stable name of the worker that this is about");
    } else if (std::string problem = NameProblem(profile.worker()); !problem.empty()) {
      checks.Add(field + ".worker", std::move(problem));
    } else if (!names.insert(profile.worker()).second) {
      checks.Add(field + ".worker",
                 absl::StrCat("is \"", profile.worker(), "\", which another entry is about already"));
    }
    profiles.push_back({profile.worker(),
                        CheckBytes(field + ".memory_budget", profile.memory_budget(), checks),
                        checks.RelativeSpeed(field + ".relative_speed", profile.relative_speed(), 0)});
  }
  return profiles;
}

WorkersSpec CheckWorkers(const v1::WorkersSpec& proto, FieldChecks& checks) {
  WorkersSpec workers;
  workers.min = checks.OrDefault("workers.min", proto.min(), 1, 1, kMaxWorkers);
  workers.max = checks.OrDefault("workers.max", proto.max(), workers.min, 1, kMaxWorkers);
  if (!checks.Wrong("workers") && workers.max < workers.min) {
    checks.Add("workers.max",
               absl::StrCat("is ", workers.max, "; must be at least workers.min (", workers.min, ")"));
  }
  workers.memory_budget_bytes = CheckBytes("workers.memory_budget", proto.memory_budget(), checks);
  workers.profiles = CheckProfiles(proto, checks);
  return workers;
}

// The rows of an explicit mask; `spec` has the model and the workers already.
std::vector<std::vector<bool>> CheckMatrix(const v1::MaskingSpec& proto, const JobSpec& spec,
                                           FieldChecks& checks) {
  const std::string field = "masking.matrix";
  const int columns = checks.Wrong("model") ? 0 : spec.model.layers;  // 0: unknown
  std::vector<std::vector<bool>> matrix;
  for (int i = 0; i < proto.matrix_size(); ++i) {
    const std::string& row = proto.matrix(i);
    if (row.find_first_not_of("01") != std::string::npos) {
      checks.Add(absl::StrCat(field, "[", i, "]"),
                 absl::StrCat("is \"", row, "\"; must be made of '0' and '1'"));
    } else if (columns > 0 && static_cast<int>(row.size()) != columns) {
      checks.Add(absl::StrCat(field, "[", i, "]"),
                 absl::StrCat("has ", row.size(), " characters; must have ", columns,
                              ", one for each of model.llama.layers"));
    }
    std::vector<bool> bits;
    for (const char c : row) bits.push_back(c == '1');
    matrix.push_back(std::move(bits));
  }
  if (!checks.Wrong("workers")) {
    if (spec.workers.min != spec.workers.max) {
      checks.Add(field, absl::StrCat("needs workers.min = workers.max; they are ", spec.workers.min, " and ",
                                     spec.workers.max));
    } else if (proto.matrix_size() != spec.workers.max) {
      checks.Add(field, absl::StrCat("has ", proto.matrix_size(), " rows; must have ", spec.workers.max,
                                     ", one for each worker (workers.max)"));
    }
  }
  if (columns == 0 || checks.Wrong(field)) return matrix;
  for (int column = 0; column < columns; ++column) {
    bool held = false;
    for (const std::vector<bool>& row : matrix) held = held || row[column];
    if (!held) {
      checks.Add(field, absl::StrCat("nobody holds block ", column, ": each column needs at least one '1'"));
    }
  }
  return matrix;
}

double ShareOfOnes(const std::vector<std::vector<bool>>& matrix) {
  int64_t ones = 0, cells = 0;
  for (const std::vector<bool>& row : matrix) {
    for (const bool held : row) ones += held;
    cells += static_cast<int64_t>(row.size());
  }
  return cells > 0 ? static_cast<double>(ones) / static_cast<double>(cells) : 1.0;
}

double CheckActiveRatio(const v1::MaskingSpec& proto, MaskGenerator generator, const WorkersSpec& workers,
                        FieldChecks& checks) {
  const std::string field = "masking.active_ratio";
  if (!proto.has_active_ratio()) return 1.0;
  const double ratio = checks.Finite(
      field, proto.active_ratio(), [](double value) { return value > 0 && value <= 1; },
      "above 0 and at most 1");
  if (checks.Wrong(field)) return ratio;
  if (generator == MaskGenerator::kFull && ratio != 1) {
    checks.Add(field, absl::StrCat("is ", ratio,
                                   "; the full generator holds everything: leave it out, or use the "
                                   "balanced generator"));
  } else if (!checks.Wrong("workers") && ratio * workers.min < 1 - 1e-9) {
    checks.Add(field, absl::StrCat("is ", ratio, "; must be at least 1/", workers.min,
                                   ", or workers.min workers could not hold every block"));
  }
  return ratio;
}

// `spec` has the model, the workers and the seed already.
MaskingSpec CheckMasking(const v1::MaskingSpec& proto, const JobSpec& spec, FieldChecks& checks) {
  MaskingSpec masking;
  masking.unit = checks.Known("masking.unit", kMaskingUnits, proto.unit());
  masking.direction = checks.Known("masking.direction", kMaskingDirections, proto.direction());
  masking.generator = checks.Known("masking.generator", kMaskGenerators, proto.generator());
  masking.seed = proto.has_seed() ? proto.seed() : spec.seed;
  masking.allow_disconnected = proto.allow_disconnected();
  masking.max_holder_sets = checks.InRange("masking.max_holder_sets", proto.max_holder_sets(), 0, kMaxInt32);
  if (checks.Wrong("masking.generator")) return masking;
  if (masking.generator != MaskGenerator::kExplicit) {
    if (!proto.matrix().empty()) checks.Add("masking.matrix", "needs `generator: explicit`");
    masking.active_ratio = CheckActiveRatio(proto, masking.generator, spec.workers, checks);
    return masking;
  }
  if (proto.has_active_ratio()) {
    checks.Add("masking.active_ratio", "must be left out when the generator is explicit: the matrix says it");
  }
  if (proto.matrix().empty()) {
    checks.Add("masking.matrix",
               "is required when the generator is explicit: one row of '0' and '1' per worker");
    return masking;
  }
  masking.matrix = CheckMatrix(proto, spec, checks);
  masking.active_ratio = ShareOfOnes(masking.matrix);
  return masking;
}

AveragingSpec CheckAveraging(const v1::AveragingSpec& proto, FieldChecks& checks) {
  AveragingSpec averaging;
  averaging.mode = checks.Known("averaging.mode", kAveragingModes, proto.mode());
  averaging.every_steps =
      checks.OrDefault("averaging.every_steps", proto.every_steps(), 1, 1, kMaxEverySteps);
  if (!checks.Wrong("averaging") && averaging.mode == AveragingMode::kGradients &&
      averaging.every_steps != 1) {
    checks.Add("averaging.every_steps",
               absl::StrCat("is ", averaging.every_steps,
                            "; gradients are averaged in every step: leave it out, or "
                            "use `mode: parameters`"));
  }
  return averaging;
}

OptimizerSpec CheckOptimizer(const v1::OptimizerSpec& proto, FieldChecks& checks) {
  OptimizerSpec optimizer;
  if (proto.has_adamw()) {
    const v1::AdamWSpec& adamw = proto.adamw();
    const std::string at = "optimizer.adamw.";
    if (adamw.learning_rate() == 0) {
      checks.Add(at + "learning_rate", "is required: a number above 0, such as 1e-3");
    }
    optimizer.adamw.learning_rate = checks.PositiveOrDefault(at + "learning_rate", adamw.learning_rate(), 0);
    optimizer.adamw.eps = checks.PositiveOrDefault(at + "eps", adamw.eps(), optimizer.adamw.eps);
    const std::string decay = "at least 0 and below 1";
    if (adamw.has_beta1())
      optimizer.adamw.beta1 = checks.Finite(at + "beta1", adamw.beta1(), DecayRate, decay);
    if (adamw.has_beta2())
      optimizer.adamw.beta2 = checks.Finite(at + "beta2", adamw.beta2(), DecayRate, decay);
    if (adamw.has_weight_decay()) {
      optimizer.adamw.weight_decay =
          checks.Finite(at + "weight_decay", adamw.weight_decay(), NotNegative, "a finite number, 0 or more");
    }
  }
  const v1::ScheduleSpec& schedule = proto.schedule();
  optimizer.schedule.warmup_steps =
      checks.InRange("optimizer.schedule.warmup_steps", schedule.warmup_steps(), 0, kMaxInt32);
  if (schedule.has_final_ratio()) {
    optimizer.schedule.final_ratio =
        checks.Finite("optimizer.schedule.final_ratio", schedule.final_ratio(), UnitInterval, "from 0 to 1");
  }
  if (proto.has_clip_norm()) {
    optimizer.clip_norm = checks.Finite("optimizer.clip_norm", proto.clip_norm(), NotNegative,
                                        "a finite number above 0, or 0 for no clipping");
  }
  return optimizer;
}

BatchSpec CheckBatch(const v1::BatchSpec& proto, const WorkersSpec& workers, FieldChecks& checks) {
  BatchSpec batch;
  batch.global_sequences =
      checks.Required("batch.global_sequences", proto.global_sequences(), 1, kMaxSequences);
  batch.micro_sequences = checks.InRange("batch.micro_sequences", proto.micro_sequences(), 0, kMaxSequences);
  if (checks.Wrong("batch.global_sequences")) return batch;
  if (!checks.Wrong("workers") && batch.global_sequences < workers.max) {
    checks.Add("batch.global_sequences", absl::StrCat("is ", batch.global_sequences, "; must be at least ",
                                                      workers.max, ", one for each worker (workers.max)"));
  }
  if (!checks.Wrong("batch.micro_sequences") && batch.micro_sequences > batch.global_sequences) {
    checks.Add("batch.micro_sequences", absl::StrCat("is ", batch.micro_sequences,
                                                     "; must not be above "
                                                     "batch.global_sequences (",
                                                     batch.global_sequences, ")"));
  }
  return batch;
}

void CheckStop(const v1::StopSpec& proto, JobSpec* spec, FieldChecks& checks) {
  if (proto.steps() == 0 && proto.tokens() == 0) {
    checks.Add("stop", "is required: `steps` or `tokens`");
  } else if (proto.steps() != 0 && proto.tokens() != 0) {
    checks.Add("stop", "has both `steps` and `tokens`; must have exactly one of them");
  }
  spec->stop_steps = checks.InRange("stop.steps", proto.steps(), 0, kMaxSteps);
  spec->stop_tokens = checks.InRange("stop.tokens", proto.tokens(), 0, kMaxTokens);
}

EvaluationSpec CheckEvaluation(const v1::EvaluationSpec& proto, const DataSpec& data, FieldChecks& checks) {
  EvaluationSpec evaluation;
  evaluation.interval_steps =
      checks.InRange("evaluation.interval_steps", proto.interval_steps(), 0, kMaxInt32);
  evaluation.max_sequences = checks.InRange("evaluation.max_sequences", proto.max_sequences(), 0, kMaxInt32);
  if (evaluation.interval_steps > 0 && data.validation_shards.empty()) {
    checks.Add("evaluation.interval_steps", "needs something to validate on: give data.validation_shards");
  }
  return evaluation;
}

// Checks of the job's length, which the model, the batch and the stop condition give together.
void CheckLength(const JobSpec& spec, FieldChecks& checks) {
  if (checks.Wrong("stop") || checks.Wrong("batch") || checks.Wrong("model")) return;
  const int64_t most_steps = kMaxTokens / spec.tokens_per_step();
  if (spec.stop_steps > most_steps) {
    checks.Add("stop.steps", absl::StrCat("is ", spec.stop_steps, "; must be at most ", most_steps, " at ",
                                          spec.tokens_per_step(), " tokens each"));
    return;
  }
  const std::string field = "optimizer.schedule.warmup_steps";
  if (checks.Wrong(field)) return;
  if (spec.optimizer.schedule.warmup_steps > spec.total_steps()) {
    checks.Add(field, absl::StrCat("is ", spec.optimizer.schedule.warmup_steps, "; must not be above the ",
                                   spec.total_steps(), " steps of the job"));
  }
}

}  // namespace

std::vector<SpecProblem> ValidateSpec(const v1::JobSpec& proto, JobSpec* spec) {
  FieldChecks checks;
  for (SpecProblem& problem : UnknownFieldProblems(proto)) {
    checks.Add(std::move(problem.field), std::move(problem.message));
  }
  JobSpec checked;
  if (!proto.display_name().empty()) {
    checked.display_name = proto.display_name();
    if (std::string problem = NameProblem(checked.display_name); !problem.empty()) {
      checks.Add("display_name", std::move(problem));
    }
  }
  checked.seed = proto.seed();
  checked.model = CheckModel(proto, checks);
  checked.data = CheckData(proto.data(), checks);
  checked.workers = CheckWorkers(proto.workers(), checks);
  checked.masking = CheckMasking(proto.masking(), checked, checks);
  checked.averaging = CheckAveraging(proto.averaging(), checks);
  checked.optimizer = CheckOptimizer(proto.optimizer(), checks);
  checked.batch = CheckBatch(proto.batch(), checked.workers, checks);
  CheckStop(proto.stop(), &checked, checks);
  checked.evaluation = CheckEvaluation(proto.evaluation(), checked.data, checks);
  checked.output_directory = checks.AbsolutePath("output_directory", proto.output_directory());
  CheckLength(checked, checks);
  if (checks.problems().empty()) *spec = std::move(checked);
  return checks.problems();
}

}  // namespace sdp
