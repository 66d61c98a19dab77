#include <string>
#include <vector>

#include "common/wire/test_specs.h"
#include "common/wire/wire.h"
#include "gmock/gmock.h"
#include "google/protobuf/util/json_util.h"
#include "google/protobuf/util/message_differencer.h"
#include "gtest/gtest.h"

namespace sdp {
namespace {

using google::protobuf::util::MessageDifferencer;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

MATCHER_P2(Problem, field, message, "") {
  *result_listener << ProblemText(arg);
  return arg.field == field && arg.message.find(message) != std::string::npos;
}

std::vector<SpecProblem> Parse(const std::string& text) {
  v1::JobSpec spec;
  return ParseSpecText(text, &spec);
}

TEST(ParseSpecText, ReadsYaml) {
  v1::JobSpec spec;
  ASSERT_THAT(ParseSpecText(R"(
# comments are fine
model:
  llama: {layers: 8, hidden: 128, heads: 4, ffn: 344, vocab: 256, seq_len: 128, tied_embeddings: true}
data:
  train_shards:
    - /data/train.bin
  format: LLMC
masking: {unit: block, generator: MASK_GENERATOR_EXPLICIT, matrix: [0110, 1001]}
optimizer: {clip_norm: 0, adamw: {learning_rate: 3e-3}}
stop: {tokens: 1e9}
seed: 18446744073709551615
)",
                            &spec),
              IsEmpty());
  EXPECT_EQ(spec.model().llama().layers(), 8);
  EXPECT_TRUE(spec.model().llama().tied_embeddings());
  EXPECT_THAT(spec.data().train_shards(), ElementsAre("/data/train.bin"));
  EXPECT_EQ(spec.data().format(), v1::DATA_FORMAT_LLMC);
  EXPECT_EQ(spec.masking().unit(), v1::MASKING_UNIT_BLOCK);
  EXPECT_EQ(spec.masking().generator(), v1::MASK_GENERATOR_EXPLICIT);
  EXPECT_THAT(spec.masking().matrix(), ElementsAre("0110", "1001"));
  EXPECT_TRUE(spec.optimizer().has_clip_norm());
  EXPECT_EQ(spec.optimizer().adamw().learning_rate(), 3e-3);
  EXPECT_EQ(spec.stop().tokens(), 1'000'000'000);
  EXPECT_EQ(spec.seed(), 18446744073709551615u);
}

TEST(ParseSpecText, ReadsTheJsonThatProtobufWrites) {
  v1::JobSpec spec = MinimalSpec();
  spec.set_seed(1ull << 60);  // 64-bit numbers are strings in proto JSON
  spec.mutable_masking()->set_generator(v1::MASK_GENERATOR_FULL);
  spec.mutable_optimizer()->mutable_adamw()->set_learning_rate(1.0 / 3);
  google::protobuf::util::JsonPrintOptions options;
  options.preserve_proto_field_names = true;
  options.add_whitespace = true;
  std::string json;
  ASSERT_TRUE(MessageToJsonString(spec, &json, options).ok());
  v1::JobSpec read;
  EXPECT_THAT(ParseSpecText(json, &read), IsEmpty());
  EXPECT_TRUE(MessageDifferencer::Equals(read, spec)) << json;
}

TEST(ParseSpecText, ReportsAllProblemsAtOnceWithTheirLines) {
  v1::JobSpec spec;
  EXPECT_THAT(
      ParseSpecText(R"(model:
  llama:
    layers: eight
    headz: 4
    hidden: 128
    hidden: 256
data:
  train_shards: /data/train.bin
  format: parquet
masking: [1]
optimizer:
  adamw: {learning_rate: fast, beta1: .inf}
seq_len: 128
stop:
  steps: {}
seed: -1
)",
                    &spec),
      ElementsAre(
          Problem("model.llama.layers", "line 3: is \"eight\"; must be a whole number from -2147483648"),
          Problem("model.llama.headz", "line 4: no such field; did you mean `heads`?"),
          Problem("model.llama.hidden", "line 6: is given twice"),
          Problem("data.train_shards", "line 8: is a single value; must be a list"),
          Problem("data.format", "line 9: is \"parquet\"; must be llmc, nanogpt or megatron"),
          Problem("masking", "line 10: is a list; must be a mapping of unit, direction"),
          Problem("optimizer.adamw.learning_rate", "line 12: is \"fast\"; must be a finite number"),
          Problem("optimizer.adamw.beta1", "line 12: is \".inf\"; must be a finite number"),
          Problem("seq_len", "line 13: no such field here; did you mean `model.llama.seq_len`?"),
          Problem("stop.steps", "line 15: is a mapping; must be a single value"),
          Problem("seed", "line 16: is \"-1\"; must be a whole number from 0 to")));
  // What could be read was.
  EXPECT_EQ(spec.model().llama().hidden(), 128);
}

TEST(ParseSpecText, NamesTheElementOfAList) {
  EXPECT_THAT(Parse("data: {train_shards: [/a, [/b], /c, {d: e}]}"),
              ElementsAre(Problem("data.train_shards[1]", "must be a single value"),
                          Problem("data.train_shards[3]", "is a mapping")));
}

TEST(ParseSpecText, ListsTheFieldsWhenNoneIsNear) {
  EXPECT_THAT(Parse("workers: {quantity: 3}"), ElementsAre(Problem("workers.quantity", "here are min, max")));
}

TEST(ParseSpecText, NumbersThatDoNotFitAreProblems) {
  EXPECT_THAT(
      Parse("model: {llama: {layers: 2147483648, heads: 1.5, ffn: 1e10}}"),
      ElementsAre(Problem("model.llama.layers", "to 2147483647"), Problem("model.llama.heads", "whole"),
                  Problem("model.llama.ffn", "to 2147483647")));
  EXPECT_THAT(Parse("{seed: 18446744073709551616, stop: {steps: 1e300}}"),
              ElementsAre(Problem("seed", "to 18446744073709551615"), Problem("stop.steps", "whole")));
  EXPECT_THAT(Parse("model: {llama: {tied_embeddings: yes}}"),
              ElementsAre(Problem("model.llama.tied_embeddings", "true or false")));
}

TEST(ParseSpecText, NothingGivenIsUnset) {
  v1::JobSpec spec;
  EXPECT_THAT(ParseSpecText("optimizer:\nseed: 3\nmasking: {active_ratio: ~}\n", &spec), IsEmpty());
  EXPECT_FALSE(spec.has_optimizer());
  EXPECT_FALSE(spec.masking().has_active_ratio());
}

TEST(ParseSpecText, TextThatIsNoSpec) {
  EXPECT_THAT(Parse(""), ElementsAre(Problem("", "the spec is empty")));
  EXPECT_THAT(Parse("# nothing\n"), ElementsAre(Problem("", "the spec is empty")));
  EXPECT_THAT(Parse("just words"), ElementsAre(Problem("", "no mapping")));
  EXPECT_THAT(Parse("[1, 2]"), ElementsAre(Problem("", "no mapping")));
  EXPECT_THAT(Parse("seed: 1\n---\nseed: 2\n"), ElementsAre(Problem("", "2 documents")));
  EXPECT_THAT(Parse("seed: 1\nmodel: {llama: {\n"), ElementsAre(Problem("", "neither YAML nor JSON")));
  EXPECT_THAT(Parse("seed: 1\nmodel: ]\n"), ElementsAre(Problem("", "line 2, column 8")));
  EXPECT_THAT(Parse("seed: *nowhere"), ElementsAre(Problem("", "neither YAML nor JSON")));
  EXPECT_THAT(Parse("display_name: \"\xff\""), ElementsAre(Problem("", "UTF-8")));
  EXPECT_THAT(Parse(std::string(2 << 20, ' ')), ElementsAre(Problem("", "at most 1048576")));
  for (const char* nesting : {"[", "{", "- ", "? ", "a: {", "!a ["}) {
    std::string deep;
    while (deep.size() < 100'000) deep += nesting;
    EXPECT_THAT(Parse(deep), ElementsAre(Problem("", ""))) << nesting;
  }
  EXPECT_THAT(Parse("&a {model: *a}"), ElementsAre(Problem("model.model", "no such field")));
}

TEST(SpecToYaml, IsInTheProtosOrderWithShortEnums) {
  v1::JobSpec spec;
  spec.set_seed(1);
  spec.set_display_name("true");
  spec.mutable_masking()->set_active_ratio(0.1);
  spec.mutable_masking()->set_unit(v1::MASKING_UNIT_BLOCK);
  spec.mutable_masking()->add_matrix("0110");
  spec.mutable_averaging();
  spec.mutable_data()->add_train_shards("/a: b");
  EXPECT_EQ(SpecToYaml(spec),
            "display_name: \"true\"\n"
            "data:\n"
            "  train_shards:\n"
            "    - \"/a: b\"\n"
            "masking:\n"
            "  unit: block\n"
            "  active_ratio: 0.1\n"
            "  matrix:\n"
            "    - \"0110\"\n"
            "averaging: {}\n"
            "seed: 1\n");
}

TEST(SetSpecField, SetsAnyField) {
  v1::JobSpec spec = MinimalSpec();
  EXPECT_THAT(SetSpecField("masking.active_ratio", "0.5", &spec), IsEmpty());
  EXPECT_THAT(SetSpecField("data.train_shards[0]", "/x", &spec), IsEmpty());
  EXPECT_THAT(SetSpecField("data.train_shards[1]", "/y", &spec), IsEmpty());
  EXPECT_THAT(SetSpecField("data.validation_shards", "[/v, /w]", &spec), IsEmpty());
  EXPECT_THAT(SetSpecField("workers", "{min: 2, max: 3}", &spec), IsEmpty());
  EXPECT_THAT(SetSpecField("stop.steps", "", &spec), IsEmpty());
  EXPECT_THAT(SetSpecField("masking.generator", "full", &spec), IsEmpty());
  EXPECT_EQ(spec.masking().active_ratio(), 0.5);
  EXPECT_THAT(spec.data().train_shards(), ElementsAre("/x", "/y"));
  EXPECT_THAT(spec.data().validation_shards(), ElementsAre("/v", "/w"));
  EXPECT_EQ(spec.workers().max(), 3);
  EXPECT_EQ(spec.stop().steps(), 0);
  EXPECT_EQ(spec.masking().generator(), v1::MASK_GENERATOR_FULL);
}

TEST(SetSpecField, SaysWhatIsWrong) {
  const auto set = [](const char* path, const char* value) {
    v1::JobSpec spec = MinimalSpec();
    return SetSpecField(path, value, &spec);
  };
  EXPECT_THAT(set("masking.activ_ratio", "1"),
              ElementsAre(Problem("masking.activ_ratio", "did you mean `active_ratio`?")));
  EXPECT_THAT(set("active_ratio", "1"),
              ElementsAre(Problem("active_ratio", "did you mean `masking.active_ratio`?")));
  EXPECT_THAT(set("seed.low", "1"), ElementsAre(Problem("seed.low", "no fields below")));
  EXPECT_THAT(set("seed", "x"),
              ElementsAre(AllOf(Problem("seed", "is \"x\""), Problem("seed", "whole number"))));
  EXPECT_THAT(set("seed[0]", "1"), ElementsAre(Problem("seed[0]", "is no list")));
  EXPECT_THAT(set("data.train_shards[2]", "/z"),
              ElementsAre(Problem("data.train_shards[2]", "has 1 elements")));
  EXPECT_THAT(set("data.train_shards[x]", "/z"),
              ElementsAre(Problem("data.train_shards[x]", "no field path")));
  EXPECT_THAT(set("data.train_shards[0]", "[a]"),
              ElementsAre(Problem("data.train_shards[0]", "must be a single value")));
  EXPECT_THAT(set("data..format", "llmc"), ElementsAre(Problem("data..format", "no field path")));
  EXPECT_THAT(set("", "1"), ElementsAre(Problem("", "no field path")));
  EXPECT_THAT(set("workers", "[}"), ElementsAre(Problem("workers", "no YAML")));
  EXPECT_THAT(set("display_name", "\xc3"), ElementsAre(Problem("display_name", "UTF-8")));
}

}  // namespace
}  // namespace sdp
