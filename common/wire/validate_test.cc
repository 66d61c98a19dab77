#include <cmath>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "common/wire/test_specs.h"
#include "common/wire/wire.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace sdp {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

// A change that makes MinimalSpec() wrong in exactly one way.
struct Rule {
  const char* name;
  std::function<void(v1::JobSpec&)> spoil;
  const char* field;
  const char* message;  // part of the message
};

v1::LlamaSpec* Llama(v1::JobSpec& spec) { return spec.mutable_model()->mutable_llama(); }
v1::AdamWSpec* Adamw(v1::JobSpec& spec) {
  v1::AdamWSpec* adamw = spec.mutable_optimizer()->mutable_adamw();
  adamw->set_learning_rate(1e-3);
  return adamw;
}
// An explicit mask that is right for the 4 workers and 8 blocks of MinimalSpec().
v1::MaskingSpec* Explicit(v1::JobSpec& spec) {
  v1::MaskingSpec* masking = spec.mutable_masking();
  masking->set_generator(v1::MASK_GENERATOR_EXPLICIT);
  for (const char* row : {"11110000", "00111100", "00001111", "11000011"}) masking->add_matrix(row);
  return masking;
}

const Rule kRules[] = {
    {"DisplayNameWithSpace", [](auto& s) { s.set_display_name("my job"); }, "display_name", "letters"},
    {"DisplayNameTooLong", [](auto& s) { s.set_display_name(std::string(64, 'a')); }, "display_name", "63"},
    {"NoModel", [](auto& s) { s.clear_model(); }, "model", "is required"},
    {"NoFamily", [](auto& s) { s.mutable_model()->clear_llama(); }, "model.llama", "is required"},
    {"NoLayers", [](auto& s) { Llama(s)->clear_layers(); }, "model.llama.layers", "from 1 to 1024"},
    {"TooManyLayers", [](auto& s) { Llama(s)->set_layers(1025); }, "model.llama.layers", "is 1025"},
    {"NegativeLayers", [](auto& s) { Llama(s)->set_layers(-1); }, "model.llama.layers", "is -1"},
    {"NoHidden", [](auto& s) { Llama(s)->clear_hidden(); }, "model.llama.hidden", "is required"},
    {"HiddenTooLarge", [](auto& s) { Llama(s)->set_hidden(1 << 21); }, "model.llama.hidden", "1048576"},
    {"HiddenNoMultipleOfHeads", [](auto& s) { Llama(s)->set_hidden(130); }, "model.llama.hidden",
     "multiple of heads (4)"},
    {"OddHeadDimension", [](auto& s) { Llama(s)->set_hidden(132); }, "model.llama.hidden", "is 33"},
    {"NoHeads", [](auto& s) { Llama(s)->clear_heads(); }, "model.llama.heads", "is required"},
    {"NegativeHeads", [](auto& s) { Llama(s)->set_heads(-4); }, "model.llama.heads", "is -4"},
    {"KvHeadsDoNotDivide", [](auto& s) { Llama(s)->set_kv_heads(3); }, "model.llama.kv_heads",
     "must divide heads (4)"},
    {"KvHeadsAboveHeads", [](auto& s) { Llama(s)->set_kv_heads(8); }, "model.llama.kv_heads", "divide"},
    {"NegativeKvHeads", [](auto& s) { Llama(s)->set_kv_heads(-1); }, "model.llama.kv_heads", "is -1"},
    {"NoFfn", [](auto& s) { Llama(s)->clear_ffn(); }, "model.llama.ffn", "is required"},
    {"VocabOfOne", [](auto& s) { Llama(s)->set_vocab(1); }, "model.llama.vocab", "from 2 to 1048576"},
    {"NoSeqLen", [](auto& s) { Llama(s)->clear_seq_len(); }, "model.llama.seq_len", "is required"},
    {"NegativeRopeTheta", [](auto& s) { Llama(s)->set_rope_theta(-1); }, "model.llama.rope_theta", "above 0"},
    {"InfiniteRopeTheta", [](auto& s) { Llama(s)->set_rope_theta(kInfinity); }, "model.llama.rope_theta",
     "finite"},
    {"NanNormEps", [](auto& s) { Llama(s)->set_norm_eps(kNan); }, "model.llama.norm_eps", "is nan"},
    {"NoTrainShards", [](auto& s) { s.clear_data(); }, "data.train_shards", "at least one"},
    {"RelativeTrainShard", [](auto& s) { s.mutable_data()->add_train_shards("b.bin"); },
     "data.train_shards[1]", "absolute"},
    {"EmptyValidationShard", [](auto& s) { s.mutable_data()->add_validation_shards(""); },
     "data.validation_shards[0]", "absolute"},
    {"NulInPath", [](auto& s) { s.mutable_data()->add_train_shards(std::string("/a\0b", 4)); },
     "data.train_shards[1]", "NUL"},
    {"UnknownFormat", [](auto& s) { s.mutable_data()->set_format(static_cast<v1::DataFormat>(9)); },
     "data.format", "llmc, nanogpt or megatron"},
    {"UnknownUnit", [](auto& s) { s.mutable_masking()->set_unit(static_cast<v1::MaskingUnit>(9)); },
     "masking.unit", "must be block"},
    {"UnknownDirection",
     [](auto& s) { s.mutable_masking()->set_direction(static_cast<v1::MaskingDirection>(9)); },
     "masking.direction", "must be forward"},
    {"UnknownGenerator",
     [](auto& s) { s.mutable_masking()->set_generator(static_cast<v1::MaskGenerator>(9)); },
     "masking.generator", "balanced, explicit, full, random or cyclic"},
    {"ZeroActiveRatio", [](auto& s) { s.mutable_masking()->set_active_ratio(0); }, "masking.active_ratio",
     "above 0 and at most 1"},
    {"ActiveRatioAboveOne", [](auto& s) { s.mutable_masking()->set_active_ratio(1.01); },
     "masking.active_ratio", "is 1.01"},
    {"NanActiveRatio", [](auto& s) { s.mutable_masking()->set_active_ratio(kNan); }, "masking.active_ratio",
     "is nan"},
    {"TooFewWorkersToCoverTheModel", [](auto& s) { s.mutable_masking()->set_active_ratio(0.2); },
     "masking.active_ratio", "at least 1/4"},
    {"RatioWithFullGenerator",
     [](auto& s) {
       s.mutable_masking()->set_generator(v1::MASK_GENERATOR_FULL);
       s.mutable_masking()->set_active_ratio(0.5);
     },
     "masking.active_ratio", "full generator"},
    {"RatioWithMatrix", [](auto& s) { Explicit(s)->set_active_ratio(0.5); }, "masking.active_ratio",
     "left out"},
    {"MatrixWithoutExplicit", [](auto& s) { s.mutable_masking()->add_matrix("11111111"); }, "masking.matrix",
     "generator: explicit"},
    {"ExplicitWithoutMatrix", [](auto& s) { Explicit(s)->clear_matrix(); }, "masking.matrix", "is required"},
    {"MatrixWithOtherCharacter", [](auto& s) { Explicit(s)->set_matrix(2, "0000111x"); }, "masking.matrix[2]",
     "made of '0' and '1'"},
    {"MatrixRowTooShort", [](auto& s) { Explicit(s)->set_matrix(1, "0011"); }, "masking.matrix[1]",
     "has 4 characters; must have 8"},
    {"MatrixOfTooFewRows", [](auto& s) { Explicit(s)->mutable_matrix()->RemoveLast(); }, "masking.matrix",
     "has 3 rows; must have 4"},
    {"MatrixForAChangingNumberOfWorkers",
     [](auto& s) {
       Explicit(s);
       s.mutable_workers()->set_max(5);
     },
     "masking.matrix", "needs workers.min = workers.max"},
    {"BlockWithoutHolder",
     [](auto& s) {
       Explicit(s)->set_matrix(1, "00011100");
       s.mutable_masking()->set_matrix(0, "11010000");
     },
     "masking.matrix", "block 2"},
    {"UnknownMode", [](auto& s) { s.mutable_averaging()->set_mode(static_cast<v1::AveragingMode>(9)); },
     "averaging.mode", "gradients or parameters"},
    {"EveryStepsForGradients", [](auto& s) { s.mutable_averaging()->set_every_steps(4); },
     "averaging.every_steps", "mode: parameters"},
    {"EveryStepsTooLarge",
     [](auto& s) {
       s.mutable_averaging()->set_mode(v1::AVERAGING_MODE_PARAMETERS);
       s.mutable_averaging()->set_every_steps(10001);
     },
     "averaging.every_steps", "from 1 to 10000"},
    {"AdamwWithoutLearningRate", [](auto& s) { Adamw(s)->clear_learning_rate(); },
     "optimizer.adamw.learning_rate", "is required"},
    {"NegativeLearningRate", [](auto& s) { Adamw(s)->set_learning_rate(-1e-3); },
     "optimizer.adamw.learning_rate", "above 0"},
    {"InfiniteLearningRate", [](auto& s) { Adamw(s)->set_learning_rate(kInfinity); },
     "optimizer.adamw.learning_rate", "finite"},
    {"Beta1OfOne", [](auto& s) { Adamw(s)->set_beta1(1); }, "optimizer.adamw.beta1", "below 1"},
    {"NegativeBeta2", [](auto& s) { Adamw(s)->set_beta2(-0.1); }, "optimizer.adamw.beta2", "at least 0"},
    {"NegativeEps", [](auto& s) { Adamw(s)->set_eps(-1); }, "optimizer.adamw.eps", "above 0"},
    {"NegativeWeightDecay", [](auto& s) { Adamw(s)->set_weight_decay(-1); }, "optimizer.adamw.weight_decay",
     "0 or more"},
    {"InfiniteWeightDecay", [](auto& s) { Adamw(s)->set_weight_decay(kInfinity); },
     "optimizer.adamw.weight_decay", "finite"},
    {"NegativeClipNorm", [](auto& s) { s.mutable_optimizer()->set_clip_norm(-1); }, "optimizer.clip_norm",
     "no clipping"},
    {"NegativeWarmup", [](auto& s) { s.mutable_optimizer()->mutable_schedule()->set_warmup_steps(-1); },
     "optimizer.schedule.warmup_steps", "is -1"},
    {"WarmupLongerThanTheJob",
     [](auto& s) { s.mutable_optimizer()->mutable_schedule()->set_warmup_steps(301); },
     "optimizer.schedule.warmup_steps", "the 300 steps"},
    {"WarmupLongerThanTheJobInTokens",
     [](auto& s) {
       s.mutable_stop()->clear_steps();
       s.mutable_stop()->set_tokens(32 * 128 * 10);
       s.mutable_optimizer()->mutable_schedule()->set_warmup_steps(11);
     },
     "optimizer.schedule.warmup_steps", "the 10 steps"},
    {"FinalRatioAboveOne", [](auto& s) { s.mutable_optimizer()->mutable_schedule()->set_final_ratio(2); },
     "optimizer.schedule.final_ratio", "from 0 to 1"},
    {"NoGlobalSequences", [](auto& s) { s.clear_batch(); }, "batch.global_sequences", "is required"},
    {"FewerSequencesThanWorkers", [](auto& s) { s.mutable_batch()->set_global_sequences(3); },
     "batch.global_sequences", "at least 4"},
    {"TooManySequences", [](auto& s) { s.mutable_batch()->set_global_sequences(1 << 21); },
     "batch.global_sequences", "1048576"},
    {"MicroAboveGlobal", [](auto& s) { s.mutable_batch()->set_micro_sequences(33); }, "batch.micro_sequences",
     "must not be above batch.global_sequences (32)"},
    {"NegativeMicro", [](auto& s) { s.mutable_batch()->set_micro_sequences(-1); }, "batch.micro_sequences",
     "is -1"},
    {"NoStop", [](auto& s) { s.clear_stop(); }, "stop", "`steps` or `tokens`"},
    {"BothStops", [](auto& s) { s.mutable_stop()->set_tokens(1000); }, "stop", "exactly one"},
    {"NegativeSteps", [](auto& s) { s.mutable_stop()->set_steps(-5); }, "stop.steps", "is -5"},
    {"NegativeTokens",
     [](auto& s) {
       s.mutable_stop()->clear_steps();
       s.mutable_stop()->set_tokens(-5);
     },
     "stop.tokens", "is -5"},
    {"MoreTokensThanCanBeCounted",
     [](auto& s) {
       s.mutable_stop()->set_steps(1'000'000'000);
       s.mutable_batch()->set_global_sequences(1 << 20);
       Llama(s)->set_seq_len(1 << 20);
     },
     "stop.steps", "must be at most"},
    {"IntervalWithoutValidationShards", [](auto& s) { s.mutable_evaluation()->set_interval_steps(10); },
     "evaluation.interval_steps", "data.validation_shards"},
    {"NegativeInterval", [](auto& s) { s.mutable_evaluation()->set_interval_steps(-1); },
     "evaluation.interval_steps", "is -1"},
    {"NegativeMaxSequences", [](auto& s) { s.mutable_evaluation()->set_max_sequences(-1); },
     "evaluation.max_sequences", "is -1"},
    {"NegativeMinWorkers", [](auto& s) { s.mutable_workers()->set_min(-1); }, "workers.min", "is -1"},
    {"TooManyWorkers", [](auto& s) { s.mutable_workers()->set_max(1025); }, "workers.max", "1024"},
    {"NegativeHolderSets", [](auto& s) { s.mutable_masking()->set_max_holder_sets(-1); },
     "masking.max_holder_sets", "is -1"},
    {"BudgetWithoutNumber", [](auto& s) { s.mutable_workers()->set_memory_budget("much"); },
     "workers.memory_budget", "24GiB"},
    {"ProfileOfNobody", [](auto& s) { s.mutable_workers()->add_profiles()->set_relative_speed(2); },
     "workers.profiles[0].worker", "is required"},
    {"ProfileOfABadName", [](auto& s) { s.mutable_workers()->add_profiles()->set_worker("a b"); },
     "workers.profiles[0].worker", "letters"},
    {"TwoProfilesOfOneWorker",
     [](auto& s) {
       s.mutable_workers()->add_profiles()->set_worker("a");
       s.mutable_workers()->add_profiles()->set_worker("a");
     },
     "workers.profiles[1].worker", "another entry"},
    {"ProfileWithABadBudget",
     [](auto& s) {
       s.mutable_workers()->add_profiles()->set_worker("a");
       s.mutable_workers()->mutable_profiles(0)->set_memory_budget("-1GiB");
     },
     "workers.profiles[0].memory_budget", "-1GiB"},
    {"ProfileWithNegativeSpeed",
     [](auto& s) {
       s.mutable_workers()->add_profiles()->set_worker("a");
       s.mutable_workers()->mutable_profiles(0)->set_relative_speed(-1);
     },
     "workers.profiles[0].relative_speed", "is -1"},
    {"ProfileWithSpeedThatOverflows",
     [](auto& s) {
       s.mutable_workers()->add_profiles()->set_worker("a");
       s.mutable_workers()->mutable_profiles(0)->set_relative_speed(1e-300);
     },
     "workers.profiles[0].relative_speed", "is 1e-300; must be from 1e-06 to 1e+06"},
    {"MaxBelowMin", [](auto& s) { s.mutable_workers()->set_max(3); }, "workers.max",
     "at least workers.min (4)"},
    {"NoOutputDirectory", [](auto& s) { s.clear_output_directory(); }, "output_directory", "is required"},
    {"RelativeOutputDirectory", [](auto& s) { s.set_output_directory("out"); }, "output_directory",
     "absolute"},
    {"UnknownField",
     [](auto& s) { Llama(s)->GetReflection()->MutableUnknownFields(Llama(s))->AddVarint(77, 1); },
     "model.llama", "field number 77 of LlamaSpec"},
};

class ValidateRule : public testing::TestWithParam<Rule> {};

TEST_P(ValidateRule, IsTheOnlyProblemAndNamesItsField) {
  v1::JobSpec proto = MinimalSpec();
  GetParam().spoil(proto);
  JobSpec spec;
  spec.display_name = "untouched";
  const std::vector<SpecProblem> problems = ValidateSpec(proto, &spec);
  ASSERT_EQ(problems.size(), 1u) << (problems.empty() ? "" : ProblemsToStatus(problems).ToString());
  EXPECT_EQ(problems[0].field, GetParam().field);
  EXPECT_THAT(problems[0].message, HasSubstr(GetParam().message));
  EXPECT_EQ(spec.display_name, "untouched");
}

INSTANTIATE_TEST_SUITE_P(All, ValidateRule, testing::ValuesIn(kRules),
                         [](const auto& info) { return info.param.name; });

TEST(ValidateSpec, FillsInDefaults) {
  JobSpec spec;
  v1::JobSpec proto = MinimalSpec();
  proto.set_seed(7);
  ASSERT_THAT(ValidateSpec(proto, &spec), IsEmpty());
  EXPECT_EQ(spec.display_name, "job");
  EXPECT_EQ(spec.model.kv_heads, 4);
  EXPECT_EQ(spec.model.rope_theta, 10000);
  EXPECT_EQ(spec.model.norm_eps, 1e-5);
  EXPECT_EQ(spec.data.format, DataFormat::kDetect);
  EXPECT_EQ(spec.masking.active_ratio, 1);
  EXPECT_EQ(spec.masking.generator, MaskGenerator::kBalanced);
  EXPECT_EQ(spec.masking.seed, 7u);
  EXPECT_EQ(spec.averaging.mode, AveragingMode::kGradients);
  EXPECT_EQ(spec.averaging.every_steps, 1);
  EXPECT_EQ(spec.optimizer.adamw.learning_rate, 1e-3);
  EXPECT_EQ(spec.optimizer.adamw.beta1, 0.9);
  EXPECT_EQ(spec.optimizer.adamw.beta2, 0.95);
  EXPECT_EQ(spec.optimizer.adamw.eps, 1e-8);
  EXPECT_EQ(spec.optimizer.adamw.weight_decay, 0.1);
  EXPECT_EQ(spec.optimizer.schedule.final_ratio, 0.1);
  EXPECT_EQ(spec.optimizer.clip_norm, 1);
  EXPECT_EQ(spec.batch.micro_sequences, 0);
  EXPECT_EQ(spec.workers.max, 4);
}

TEST(ValidateSpec, ZeroIsAValueWhereTheDefaultIsNot) {
  v1::JobSpec proto = MinimalSpec();
  Adamw(proto)->set_beta1(0);
  Adamw(proto)->set_weight_decay(0);
  proto.mutable_optimizer()->set_clip_norm(0);
  proto.mutable_optimizer()->mutable_schedule()->set_final_ratio(0);
  proto.mutable_masking()->set_seed(0);
  proto.set_seed(7);
  JobSpec spec;
  ASSERT_THAT(ValidateSpec(proto, &spec), IsEmpty());
  EXPECT_EQ(spec.optimizer.adamw.beta1, 0);
  EXPECT_EQ(spec.optimizer.adamw.weight_decay, 0);
  EXPECT_EQ(spec.optimizer.clip_norm, 0);
  EXPECT_EQ(spec.optimizer.schedule.final_ratio, 0);
  EXPECT_EQ(spec.masking.seed, 0u);
}

TEST(ValidateSpec, TheMatrixSaysTheActiveRatio) {
  v1::JobSpec proto = MinimalSpec();
  Explicit(proto)->set_matrix(0, "11111111");
  JobSpec spec;
  ASSERT_THAT(ValidateSpec(proto, &spec), IsEmpty());
  EXPECT_EQ(spec.masking.active_ratio, 20.0 / 32);
  EXPECT_EQ(spec.masking.matrix[1], std::vector<bool>({0, 0, 1, 1, 1, 1, 0, 0}));
}

TEST(ValidateSpec, AnEmptySpecLacksExactlyWhatIsRequired) {
  std::vector<std::string> fields;
  JobSpec spec;
  for (const SpecProblem& problem : ValidateSpec(v1::JobSpec(), &spec)) fields.push_back(problem.field);
  EXPECT_THAT(fields, ElementsAre("model", "data.train_shards", "batch.global_sequences", "stop",
                                  "output_directory"));
}

TEST(ValidateSpec, ReportsProblemsOfAllPartsAtOnce) {
  v1::JobSpec proto = MinimalSpec();
  Llama(proto)->set_kv_heads(3);
  Llama(proto)->set_vocab(0);
  proto.mutable_data()->set_train_shards(0, "train.bin");
  proto.mutable_workers()->set_max(2);
  proto.mutable_masking()->set_active_ratio(2);
  proto.mutable_stop()->set_tokens(1);
  std::vector<std::string> fields;
  JobSpec spec;
  for (const SpecProblem& problem : ValidateSpec(proto, &spec)) fields.push_back(problem.field);
  EXPECT_THAT(fields, ElementsAre("model.llama.vocab", "model.llama.kv_heads", "data.train_shards[0]",
                                  "workers.max", "masking.active_ratio", "stop"));
}

}  // namespace
}  // namespace sdp
