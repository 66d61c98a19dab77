#include <nlohmann/json.hpp>
#include <string>

#include "absl/strings/str_cat.h"
#include "cli/byte_statistics.h"
#include "cli/sdpctl_fixture.h"
#include "common/data/token_dataset.h"
#include "gmock/gmock.h"

namespace sdp::cli {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// 1000 bytes, all values among them.
std::string Text() {
  std::string text;
  for (int i = 0; i < 1000; ++i) text += static_cast<char>(i * i + i / 7);
  return text;
}

// The tokens of a shard, as bytes.
std::string ReadShard(const std::string& path, DataFormat format) {
  const auto dataset = TokenDataset::Open({path}, format, /*vocab=*/256, /*seq_len=*/1);
  EXPECT_TRUE(dataset.ok()) << dataset.status();
  if (!dataset.ok()) return "";
  std::string text;
  std::vector<int64_t> tokens(2);
  for (int64_t i = 0; i < (*dataset)->sequences(); ++i) {
    EXPECT_TRUE((*dataset)->Read(i, absl::MakeSpan(tokens)).ok());
    text += static_cast<char>(tokens[0]);
  }
  return text + static_cast<char>(tokens[1]);
}

using DataPrepare = SdpctlTest;

TEST_F(DataPrepare, SplitsTextIntoShardsInEachFormat) {
  const std::pair<const char*, DataFormat> formats[] = {
      {"llmc", DataFormat::kLlmc}, {"nanogpt", DataFormat::kNanogpt}, {"megatron", DataFormat::kMegatron}};
  for (const auto& [name, format] : formats) {
    const std::string out = folder_ / name;
    const Result result = Run({"data", "prepare", "--input", "-", "--output-dir", out, "--format", name,
                               "--validation-fraction", "0.1"},
                              Text());
    ASSERT_EQ(result.code, kExitOk) << result.err;
    EXPECT_EQ(ReadShard(out + "/train.bin", format), Text().substr(0, 900)) << name;
    EXPECT_EQ(ReadShard(out + "/validation.bin", format), Text().substr(900)) << name;
  }
}

TEST_F(DataPrepare, SaysWhatItWroteForPeopleAndForScripts) {
  WriteTestFile(folder_ / "text", Text());
  const Result people = Run({"data", "prepare", "--input", folder_ / "text", "--output-dir", folder_ / "out",
                             "--seq-len-hint", "9"});
  EXPECT_EQ(people.code, kExitOk) << people.err;
  EXPECT_THAT(people.out, HasSubstr("950 tokens, 105 sequences of 9"));
  EXPECT_THAT(people.out, HasSubstr("50 tokens, 5 sequences of 9"));

  const Result scripts =
      Run({"data", "prepare", "--input", folder_ / "text", "--output-dir", folder_ / "out", "-o", "json"});
  const auto json = nlohmann::json::parse(scripts.out);
  EXPECT_TRUE(std::filesystem::equivalent(json["train_path"].get<std::string>(), folder_ / "out/train.bin"));
  EXPECT_EQ(json["train_tokens"], 950);
  EXPECT_EQ(json["validation_tokens"], 50);
  EXPECT_EQ(json["vocab"], 256);
  const ByteCounts train = CountBytes(Text().substr(0, 950)), validation = CountBytes(Text().substr(950));
  EXPECT_DOUBLE_EQ(json["unigram_cross_entropy_nats"], UnigramCrossEntropy(validation, train));
  EXPECT_DOUBLE_EQ(json["unigram_entropy_nats"], UnigramEntropy(validation));

  const Result yaml =
      Run({"data", "prepare", "--input", folder_ / "text", "--output-dir", folder_ / "out", "-o", "yaml"});
  EXPECT_THAT(yaml.out, HasSubstr("train_tokens: 950\n"));
}

TEST_F(DataPrepare, NoValidationWhenNoneIsWanted) {
  const Result result =
      Run({"data", "prepare", "--input", "-", "--output-dir", folder_ / "out", "--validation-fraction", "0"},
          Text());
  EXPECT_EQ(result.code, kExitOk) << result.err;
  EXPECT_EQ(ReadShard(folder_ / "out/train.bin", DataFormat::kDetect), Text());
  EXPECT_FALSE(std::filesystem::exists(folder_ / "out/validation.bin"));
}

TEST_F(DataPrepare, RefusesTextsThatAreTooShort) {
  const Result empty = Run({"data", "prepare", "--input", "-", "--output-dir", folder_ / "out"}, "");
  EXPECT_EQ(empty.code, kExitUsage);
  EXPECT_THAT(empty.err, HasSubstr("holds no text"));
  const Result tiny = Run({"data", "prepare", "--input", "-", "--output-dir", folder_ / "out"}, "abc");
  EXPECT_EQ(tiny.code, kExitUsage);
  EXPECT_THAT(tiny.err, HasSubstr("the validation text would have 0 tokens"));
  const Result below_hint = Run(
      {"data", "prepare", "--input", "-", "--output-dir", folder_ / "out", "--seq-len-hint", "50"}, Text());
  EXPECT_EQ(below_hint.code, kExitUsage);
  EXPECT_THAT(below_hint.err, HasSubstr("one sequence of 50 needs 51"));
  EXPECT_THAT(folder_.Files(), IsEmpty());
}

TEST_F(DataPrepare, FilesThatCannotBeReadOrWritten) {
  EXPECT_EQ(Run({"data", "prepare", "--input", "/nonexistent", "--output-dir", folder_ / "out"}).code,
            kExitNotFound);
  WriteTestFile(folder_ / "file", "x");
  const Result result =
      Run({"data", "prepare", "--input", "-", "--output-dir", folder_ / "file/out"}, Text());
  EXPECT_EQ(result.code, kExitFailed);
  EXPECT_THAT(result.err, HasSubstr("cannot create " + (folder_ / "file/out")));
}

TEST_F(DataPrepare, InterruptLeavesNothingBehind) {
  interrupt_.Trigger();
  const Result result = Run({"data", "prepare", "--input", "-", "--output-dir", folder_.path()}, Text());
  EXPECT_EQ(result.code, kExitInterrupted);
  EXPECT_THAT(folder_.Files(), IsEmpty());
}

TEST_F(DataPrepare, RefusesWrongOptions) {
  for (const std::vector<std::string>& wrong :
       std::vector<std::vector<std::string>>{{"--validation-fraction", "1"},
                                             {"--validation-fraction", "-0.1"},
                                             {"--format", "parquet"},
                                             {"--seq-len-hint", "0"},
                                             {"-o", "name"}}) {
    std::vector<std::string> arguments = {"data", "prepare", "--input", "-", "--output-dir", folder_ / "out"};
    arguments.insert(arguments.end(), wrong.begin(), wrong.end());
    EXPECT_EQ(Run(arguments, Text()).code, kExitUsage) << wrong[0];
  }
}

}  // namespace
}  // namespace sdp::cli
