#include "worker/checkpoint/hugging_face.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "common/testing/temporary_folder.h"

namespace sdp {
namespace {

using nlohmann::json;

LlamaSpec SmallSpec() {
  LlamaSpec spec;
  spec.layers = 8;
  spec.hidden = 128;
  spec.heads = 4;
  spec.kv_heads = 2;
  spec.ffn = 344;
  spec.vocab = 256;
  spec.seq_len = 64;
  spec.rope_theta = 500000.0;
  spec.norm_eps = 1e-6;
  spec.tied_embeddings = true;
  return spec;
}

void ExpectSame(const LlamaSpec& a, const LlamaSpec& b) {
  EXPECT_EQ(a.layers, b.layers);
  EXPECT_EQ(a.hidden, b.hidden);
  EXPECT_EQ(a.heads, b.heads);
  EXPECT_EQ(a.kv_heads, b.kv_heads);
  EXPECT_EQ(a.ffn, b.ffn);
  EXPECT_EQ(a.vocab, b.vocab);
  EXPECT_EQ(a.seq_len, b.seq_len);
  EXPECT_EQ(a.rope_theta, b.rope_theta);
  EXPECT_EQ(a.norm_eps, b.norm_eps);
  EXPECT_EQ(a.tied_embeddings, b.tied_embeddings);
}

TEST(HuggingFaceTest, ShardsAreNamedAsTheLibrariesName) {
  EXPECT_EQ(SafetensorsFileName(0, 1), "model.safetensors");
  EXPECT_EQ(SafetensorsFileName(0, 4), "model-00001-of-00004.safetensors");
  EXPECT_EQ(SafetensorsFileName(11, 12), "model-00012-of-00012.safetensors");
}

TEST(HuggingFaceTest, TheConfigHasWhatTransformersReads) {
  const json config = json::parse(LlamaConfigJson(SmallSpec()));
  EXPECT_EQ(config["architectures"], json::array({"LlamaForCausalLM"}));
  EXPECT_EQ(config["model_type"], "llama");
  EXPECT_EQ(config["hidden_size"], 128);
  EXPECT_EQ(config["intermediate_size"], 344);
  EXPECT_EQ(config["num_hidden_layers"], 8);
  EXPECT_EQ(config["num_attention_heads"], 4);
  EXPECT_EQ(config["num_key_value_heads"], 2);
  EXPECT_EQ(config["head_dim"], 32);
  EXPECT_EQ(config["vocab_size"], 256);
  EXPECT_EQ(config["max_position_embeddings"], 64);
  EXPECT_EQ(config["rms_norm_eps"], 1e-6);
  EXPECT_EQ(config["rope_theta"], 500000.0);
  EXPECT_EQ(config["rope_parameters"], (json{{"rope_type", "default"}, {"rope_theta", 500000.0}}));
  EXPECT_EQ(config["tie_word_embeddings"], true);
  EXPECT_EQ(config["torch_dtype"], "float32");
}

TEST(HuggingFaceTest, TheConfigIsReadBack) {
  const TemporaryFolder folder;
  for (const bool tied : {false, true}) {
    LlamaSpec spec = SmallSpec();
    spec.tied_embeddings = tied;
    spec.norm_eps = 0.1 + 0.2;  // needs all its digits
    ASSERT_TRUE(WriteLlamaConfig(folder.path(), spec).ok());
    const auto read = ReadLlamaConfig(folder.path());
    ASSERT_TRUE(read.ok()) << read.status();
    ExpectSame(*read, spec);
  }
}

TEST(HuggingFaceTest, OlderAndNewerConfigsAreRead) {
  json config = json::parse(LlamaConfigJson(SmallSpec()));
  config.erase("rope_parameters");
  config.erase("head_dim");
  config["rope_scaling"] = nullptr;
  auto spec = ParseLlamaConfig(config.dump(), "config.json");
  ASSERT_TRUE(spec.ok()) << spec.status();
  ExpectSame(*spec, SmallSpec());

  config = json::parse(LlamaConfigJson(SmallSpec()));
  config.erase("rope_theta");
  config.erase("num_key_value_heads");
  spec = ParseLlamaConfig(config.dump(), "config.json");
  ASSERT_TRUE(spec.ok()) << spec.status();
  EXPECT_EQ(spec->kv_heads, 4);
  EXPECT_EQ(spec->rope_theta, 500000.0);
}

// Changing `field` of a good config to `value` gives an error that names the field.
void ExpectConfigRefused(const std::string& field, const json& value, const std::string& named = "") {
  json config = json::parse(LlamaConfigJson(SmallSpec()));
  config[json::json_pointer("/" + field)] = value;
  const auto spec = ParseLlamaConfig(config.dump(), "x/config.json");
  EXPECT_EQ(spec.status().code(), absl::StatusCode::kInvalidArgument) << field << value;
  EXPECT_TRUE(absl::StartsWith(spec.status().message(), "x/config.json: " + (named.empty() ? field : named)))
      << spec.status();
}

TEST(HuggingFaceTest, BadConfigsNameTheField) {
  for (const char* field : {"hidden_size", "intermediate_size", "num_hidden_layers", "num_attention_heads",
                            "vocab_size", "max_position_embeddings", "num_key_value_heads"}) {
    ExpectConfigRefused(field, 0);
    ExpectConfigRefused(field, -1);
    ExpectConfigRefused(field, "8");
    ExpectConfigRefused(field, 8.5);
    ExpectConfigRefused(field, int64_t{1} << 40);
  }
  for (const char* field : {"hidden_size", "num_hidden_layers", "vocab_size", "rms_norm_eps", "model_type"}) {
    ExpectConfigRefused(field, nullptr);
  }
  ExpectConfigRefused("model_type", "gpt2");
  ExpectConfigRefused("architectures", {"GPT2LMHeadModel"});
  ExpectConfigRefused("hidden_act", "gelu");
  ExpectConfigRefused("attention_bias", true);
  ExpectConfigRefused("mlp_bias", true);
  ExpectConfigRefused("rope_scaling", {{"factor", 8.0}});
  ExpectConfigRefused("rope_parameters/rope_type", "llama3", "rope_parameters.rope_type");
  ExpectConfigRefused("rope_parameters/rope_theta", -1.0, "rope_parameters.rope_theta");
  ExpectConfigRefused("rope_parameters", 3);
  ExpectConfigRefused("rms_norm_eps", 0.0);
  ExpectConfigRefused("head_dim", 64);
  ExpectConfigRefused("num_attention_heads", 3);
  ExpectConfigRefused("num_key_value_heads", 3);
  ExpectConfigRefused("tie_word_embeddings", "yes");
  EXPECT_EQ(ParseLlamaConfig("{", "c").status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(ParseLlamaConfig("[1]", "c").status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_TRUE(absl::StrContains(ParseLlamaConfig(R"({"a":1,"a":2})", "c").status().message(),
                                "\"a\" is there twice"));
}

TEST(HuggingFaceTest, TheIndexIsReadBack) {
  const TemporaryFolder folder;
  const SafetensorsIndex index{
      {{"a", "model-00001-of-00002.safetensors"}, {"b", "model-00002-of-00002.safetensors"}}, 4096};
  ASSERT_TRUE(WriteSafetensorsIndex(folder.path(), index).ok());
  const json written = json::parse(ReadTestFile(folder / "model.safetensors.index.json"));
  EXPECT_EQ(written["metadata"]["total_size"], 4096);
  EXPECT_EQ(written["weight_map"]["b"], "model-00002-of-00002.safetensors");
  const auto read = ReadSafetensorsIndex(folder.path());
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->file_of_tensor, index.file_of_tensor);
  EXPECT_EQ(read->total_bytes, 4096);
}

TEST(HuggingFaceTest, BadIndexesAreRefused) {
  const TemporaryFolder folder;
  EXPECT_EQ(ReadSafetensorsIndex(folder.path()).status().code(), absl::StatusCode::kNotFound);
  for (const char* text : {"", "[]", "{}", R"({"weight_map":3})", R"({"weight_map":{"a":3}})",
                           R"({"weight_map":{"a":"../b"}})", R"({"weight_map":{"a":""}})"}) {
    WriteTestFile(folder / "model.safetensors.index.json", text);
    const absl::Status status = ReadSafetensorsIndex(folder.path()).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << text;
    EXPECT_TRUE(absl::StrContains(status.message(), "model.safetensors.index.json")) << status;
  }
}

TEST(HuggingFaceTest, EarlierExportsGoAndNothingElse) {
  const std::vector<std::string> others = {"config.json", "model-1-of-2.safetensors", "model.bin",
                                           "my-model.safetensors", "notes.safetensors"};
  const std::vector<std::string> four = {"model-00001-of-00004.safetensors",
                                         "model-00004-of-00004.safetensors"};
  const auto left = [&](int shards) {
    const TemporaryFolder folder;
    for (const std::string& name : others) WriteTestFile(folder / name, "x");
    for (const std::string& name : four) WriteTestFile(folder / name, "x");
    for (const char* name :
         {"model.safetensors", "model-00001-of-00002.safetensors", "model.safetensors.index.json"}) {
      WriteTestFile(folder / name, "x");
    }
    EXPECT_TRUE(RemoveOtherExports(folder.path(), shards).ok());
    std::vector<std::string> files = folder.Files();
    for (const std::string& name : others) {
      const auto found = std::find(files.begin(), files.end(), name);
      EXPECT_NE(found, files.end()) << name;
      if (found != files.end()) files.erase(found);
    }
    return files;
  };
  EXPECT_EQ(left(1), std::vector<std::string>{"model.safetensors"});
  EXPECT_EQ(left(4), (std::vector<std::string>{four[0], four[1], "model.safetensors.index.json"}));
  const TemporaryFolder folder;
  EXPECT_EQ(RemoveOtherExports(folder / "missing", 1).code(), absl::StatusCode::kNotFound);
}

TEST(HuggingFaceTest, ErrorsOfWritingNameTheFile) {
  const TemporaryFolder folder;
  const absl::Status status = WriteLlamaConfig(folder / "missing", SmallSpec());
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_TRUE(absl::StrContains(status.message(), "missing/config.json")) << status;
}

}  // namespace
}  // namespace sdp
