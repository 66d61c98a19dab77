#include "worker/checkpoint/model_reader.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "common/testing/temporary_folder.h"
#include "worker/checkpoint/hugging_face.h"

namespace sdp {
namespace {

constexpr char kFirst[] = "model-00001-of-00002.safetensors";
constexpr char kSecond[] = "model-00002-of-00002.safetensors";

void WriteTensor(const std::string& path, const std::string& name, const std::vector<float>& values) {
  const auto writer = SafetensorsWriter::Create(path, {{name, {static_cast<int64_t>(values.size())}}});
  ASSERT_TRUE(writer.ok()) << writer.status();
  ASSERT_TRUE((*writer)->Write(name, values).ok());
  ASSERT_TRUE((*writer)->Finish().ok());
}

class ModelReaderTest : public testing::Test {
 protected:
  ModelReaderTest() {
    LlamaSpec spec;
    spec.layers = spec.heads = spec.kv_heads = 1;
    spec.hidden = spec.ffn = spec.vocab = spec.seq_len = 2;
    EXPECT_TRUE(WriteLlamaConfig(folder_.path(), spec).ok());
  }

  void WriteTwoShards() {
    WriteTensor(folder_ / kFirst, "a", {1, 2});
    WriteTensor(folder_ / kSecond, "b", {3});
    ASSERT_TRUE(WriteSafetensorsIndex(folder_.path(), {{{"a", kFirst}, {"b", kSecond}}, 12}).ok());
  }

  // Opening fails with `code`, and the message has `part`.
  void ExpectRefused(absl::StatusCode code, const std::string& part) {
    const absl::Status status = ModelReader::Open(folder_.path()).status();
    EXPECT_EQ(status.code(), code) << status;
    EXPECT_TRUE(absl::StrContains(status.message(), part)) << status;
  }

  const TemporaryFolder folder_;
};

TEST_F(ModelReaderTest, ReadsTensorsFromAllShards) {
  WriteTwoShards();
  const auto reader = ModelReader::Open(folder_.path());
  ASSERT_TRUE(reader.ok()) << reader.status();
  EXPECT_EQ((*reader)->spec().hidden, 2);
  std::vector<float> a(2);
  std::vector<float> b(1);
  ASSERT_TRUE((*reader)->Read("a", absl::MakeSpan(a)).ok());
  ASSERT_TRUE((*reader)->Read("b", absl::MakeSpan(b)).ok());
  EXPECT_EQ(a, (std::vector<float>{1, 2}));
  EXPECT_EQ(b, std::vector<float>{3});
  EXPECT_EQ((*reader)->Find("b")->shape, std::vector<int64_t>{1});
  EXPECT_EQ((*reader)->Find("c"), nullptr);
  const absl::Status missing = (*reader)->Read("c", absl::MakeSpan(b));
  EXPECT_EQ(missing.code(), absl::StatusCode::kNotFound);
  EXPECT_TRUE(absl::StrContains(missing.message(), "\"c\"")) << missing;
}

TEST_F(ModelReaderTest, ReadsAModelInOneFile) {
  WriteTensor(folder_ / "model.safetensors", "a", {7});
  const auto reader = ModelReader::Open(folder_.path());
  ASSERT_TRUE(reader.ok()) << reader.status();
  std::vector<float> a(1);
  ASSERT_TRUE((*reader)->Read("a", absl::MakeSpan(a)).ok());
  EXPECT_EQ(a[0], 7);
}

TEST_F(ModelReaderTest, IncompleteModelsNameTheFile) {
  ExpectRefused(absl::StatusCode::kNotFound, "model.safetensors.index.json");
  WriteTwoShards();
  std::filesystem::remove(folder_ / kSecond);
  ExpectRefused(absl::StatusCode::kNotFound, kSecond);
  std::filesystem::remove(folder_ / "config.json");
  ExpectRefused(absl::StatusCode::kNotFound, "config.json");
}

TEST_F(ModelReaderTest, TheIndexAndTheShardsMustAgree) {
  WriteTwoShards();
  ASSERT_TRUE(WriteSafetensorsIndex(folder_.path(), {{{"a", kFirst}, {"c", kSecond}}, 12}).ok());
  ExpectRefused(absl::StatusCode::kInvalidArgument, "no tensor \"c\"");
  WriteTwoShards();
  WriteTensor(folder_ / kSecond, "a", {1});
  ASSERT_TRUE(WriteSafetensorsIndex(folder_.path(), {{{"a", kSecond}}, 12}).ok());
  EXPECT_TRUE(ModelReader::Open(folder_.path()).ok());
  const auto both = SafetensorsWriter::Create(folder_ / kSecond, {{"a", {0}}, {"x", {0}}});
  ASSERT_TRUE(both.ok() && (*both)->Finish().ok());
  ExpectRefused(absl::StatusCode::kInvalidArgument, "\"x\"");
}

}  // namespace
}  // namespace sdp
