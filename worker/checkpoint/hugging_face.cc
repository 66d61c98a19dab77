#include "worker/checkpoint/hugging_face.h"

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/base/atomic_file_writer.h"
#include "common/base/random_access_file.h"
#include "common/base/status_macros.h"
#include "worker/checkpoint/json.h"

namespace sdp {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

constexpr char kIndexName[] = "model.safetensors.index.json";
constexpr char kArchitecture[] = "LlamaForCausalLM";
// Far above any real one; keeps a damaged file from asking for terabytes.
constexpr int64_t kMaxTextBytes = int64_t{1} << 30;

absl::Status ConfigError(const std::string& source, const std::string& field, const std::string& message) {
  return absl::InvalidArgumentError(absl::StrCat(source, ": ", field, ": ", message));
}

// The field, or null when it is missing or null.
const json* Find(const json& object, const std::string& field) {
  const auto found = object.find(field);
  return found == object.end() || found->is_null() ? nullptr : &*found;
}

// A positive int; `fallback` when the field is missing, unless that is 0.
absl::StatusOr<int> PositiveInt(const json& config, const std::string& field, int fallback,
                                const std::string& source) {
  const json* value = Find(config, field);
  if (value == nullptr && fallback > 0) return fallback;
  if (value == nullptr) return ConfigError(source, field, "missing; a positive integer is needed");
  if (!value->is_number_integer() || *value < 1 || *value > (1 << 30)) {
    return ConfigError(source, field, absl::StrCat("is ", value->dump(), ", not a positive integer"));
  }
  return value->get<int>();
}

absl::StatusOr<double> PositiveNumber(const json& value, const std::string& field,
                                      const std::string& source) {
  if (!value.is_number() || !(value.get<double>() > 0)) {
    return ConfigError(source, field, absl::StrCat("is ", value.dump(), ", not a positive number"));
  }
  return value.get<double>();
}

// Fields whose other values would need code that LlamaSpec has no room for.
absl::Status CheckPlainLlama(const json& config, const std::string& source) {
  const std::pair<const char*, json> wanted[] = {
      {"model_type", "llama"},
      {"hidden_act", "silu"},
      {"attention_bias", false},
      {"mlp_bias", false},
      {"architectures", json::array({kArchitecture})},
      {"rope_scaling", nullptr},
  };
  for (const auto& [field, value] : wanted) {
    const json* found = Find(config, field);
    if (found != nullptr && *found != value) {
      return ConfigError(source, field,
                         absl::StrCat("is ", found->dump(), "; only ", value.dump(), " is supported"));
    }
  }
  if (Find(config, "model_type") == nullptr) {
    return ConfigError(source, "model_type", "missing; \"llama\" is needed");
  }
  return absl::OkStatus();
}

// From rope_parameters (transformers 5) or rope_theta (before).
absl::StatusOr<double> RopeTheta(const json& config, const std::string& source) {
  const json* parameters = Find(config, "rope_parameters");
  if (parameters == nullptr) {
    const json* theta = Find(config, "rope_theta");
    if (theta == nullptr) return LlamaSpec().rope_theta;
    return PositiveNumber(*theta, "rope_theta", source);
  }
  if (!parameters->is_object()) return ConfigError(source, "rope_parameters", "is not an object");
  const json* type = Find(*parameters, "rope_type");
  if (type != nullptr && *type != "default") {
    return ConfigError(source, "rope_parameters.rope_type",
                       absl::StrCat("is ", type->dump(), "; only \"default\" is supported"));
  }
  const json* theta = Find(*parameters, "rope_theta");
  if (theta == nullptr) return ConfigError(source, "rope_parameters.rope_theta", "missing");
  return PositiveNumber(*theta, "rope_parameters.rope_theta", source);
}

absl::Status CheckHeads(const LlamaSpec& spec, const json& config, const std::string& source) {
  if (spec.hidden % spec.heads != 0 || spec.head_dim() % 2 != 0) {
    return ConfigError(
        source, "num_attention_heads",
        absl::StrCat("hidden_size ", spec.hidden, " / ", spec.heads, " is not a whole even number"));
  }
  if (spec.heads % spec.kv_heads != 0) {
    return ConfigError(source, "num_key_value_heads",
                       absl::StrCat("is ", spec.kv_heads, ", which does not divide ", spec.heads));
  }
  SDP_ASSIGN_OR_RETURN(const int head_dim, PositiveInt(config, "head_dim", spec.head_dim(), source));
  if (head_dim != spec.head_dim()) {
    return ConfigError(source, "head_dim",
                       absl::StrCat("is ", head_dim, "; only hidden_size / num_attention_heads = ",
                                    spec.head_dim(), " is supported"));
  }
  return absl::OkStatus();
}

absl::StatusOr<LlamaSpec> SpecFromConfig(const json& config, const std::string& source) {
  if (!config.is_object()) return absl::InvalidArgumentError(absl::StrCat(source, ": not a JSON object"));
  SDP_RETURN_IF_ERROR(CheckPlainLlama(config, source));
  LlamaSpec spec;
  SDP_ASSIGN_OR_RETURN(spec.layers, PositiveInt(config, "num_hidden_layers", 0, source));
  SDP_ASSIGN_OR_RETURN(spec.hidden, PositiveInt(config, "hidden_size", 0, source));
  SDP_ASSIGN_OR_RETURN(spec.heads, PositiveInt(config, "num_attention_heads", 0, source));
  SDP_ASSIGN_OR_RETURN(spec.kv_heads, PositiveInt(config, "num_key_value_heads", spec.heads, source));
  SDP_ASSIGN_OR_RETURN(spec.ffn, PositiveInt(config, "intermediate_size", 0, source));
  SDP_ASSIGN_OR_RETURN(spec.vocab, PositiveInt(config, "vocab_size", 0, source));
  SDP_ASSIGN_OR_RETURN(spec.seq_len, PositiveInt(config, "max_position_embeddings", 0, source));
  SDP_RETURN_IF_ERROR(CheckHeads(spec, config, source));
  SDP_ASSIGN_OR_RETURN(spec.rope_theta, RopeTheta(config, source));
  const json* eps = Find(config, "rms_norm_eps");
  if (eps == nullptr) return ConfigError(source, "rms_norm_eps", "missing");
  SDP_ASSIGN_OR_RETURN(spec.norm_eps, PositiveNumber(*eps, "rms_norm_eps", source));
  if (const json* tied = Find(config, "tie_word_embeddings"); tied != nullptr) {
    if (!tied->is_boolean()) return ConfigError(source, "tie_word_embeddings", "is neither true nor false");
    spec.tied_embeddings = tied->get<bool>();
  }
  return spec;
}

absl::StatusOr<SafetensorsIndex> IndexFromJson(const json& object, const std::string& source) {
  const auto map = object.is_object() ? object.find("weight_map") : object.end();
  if (!object.is_object() || map == object.end() || !map->is_object()) {
    return absl::InvalidArgumentError(absl::StrCat(source, ": no object weight_map"));
  }
  SafetensorsIndex index;
  for (const auto& [tensor, file] : map->items()) {
    if (!file.is_string() || file.get<std::string>().empty() ||
        file.get<std::string>().find('/') != std::string::npos) {
      return ConfigError(source, absl::StrCat("weight_map.", tensor),
                         absl::StrCat("is ", file.dump(), ", not the name of a file in the same folder"));
    }
    index.file_of_tensor[tensor] = file.get<std::string>();
  }
  const auto metadata = object.find("metadata");
  if (metadata != object.end() && metadata->is_object()) {
    const json* total = Find(*metadata, "total_size");
    if (total != nullptr && total->is_number_integer()) index.total_bytes = total->get<int64_t>();
  }
  return index;
}

// "model.safetensors", "model-00001-of-00004.safetensors" or the index.
bool IsModelFile(const std::string& name) {
  int shard = 0;
  int shards = 0;
  if (name == kIndexName || name == SafetensorsFileName(0, 1)) return true;
  return std::sscanf(name.c_str(), "model-%5d-of-%5d.safetensors", &shard, &shards) == 2 &&
         name == SafetensorsFileName(shard - 1, shards);
}

std::string ConfigPath(const std::string& directory) { return absl::StrCat(directory, "/config.json"); }
std::string IndexPath(const std::string& directory) { return absl::StrCat(directory, "/", kIndexName); }

absl::Status WriteText(const std::string& path, const std::string& text) {
  SDP_ASSIGN_OR_RETURN(const auto file, AtomicFileWriter::Create(path));
  SDP_RETURN_IF_ERROR(file->Append(text));
  return file->Commit();
}

absl::StatusOr<std::string> ReadText(const std::string& path) {
  SDP_ASSIGN_OR_RETURN(const auto file, RandomAccessFile::Open(path));
  if (file->size() > kMaxTextBytes) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": ", file->size(), " bytes are too many for this file"));
  }
  std::string text(file->size(), '\0');
  SDP_RETURN_IF_ERROR(file->Read(0, absl::MakeSpan(text)));
  return text;
}

}  // namespace

std::string SafetensorsFileName(int shard, int shards) {
  if (shards == 1) return "model.safetensors";
  return absl::StrFormat("model-%05d-of-%05d.safetensors", shard + 1, shards);
}

absl::Status RemoveOtherExports(const std::string& directory, int shards) {
  std::set<std::string> kept;
  for (int i = 0; i < shards; ++i) kept.insert(SafetensorsFileName(i, shards));
  if (shards > 1) kept.insert(kIndexName);
  std::error_code error;
  for (std::filesystem::directory_iterator entry(directory, error), end; !error && entry != end;
       entry.increment(error)) {
    const std::string name = entry->path().filename();
    if (!IsModelFile(name) || kept.count(name) > 0) continue;
    if (unlink(entry->path().c_str()) != 0) {
      return absl::ErrnoToStatus(errno, absl::StrCat("cannot remove ", entry->path().string()));
    }
  }
  if (error) return absl::ErrnoToStatus(error.value(), absl::StrCat("cannot list ", directory));
  return absl::OkStatus();
}

std::string LlamaConfigJson(const LlamaSpec& spec) {
  const ordered_json config = {
      {"architectures", {kArchitecture}},
      {"model_type", "llama"},
      {"hidden_size", spec.hidden},
      {"intermediate_size", spec.ffn},
      {"num_hidden_layers", spec.layers},
      {"num_attention_heads", spec.heads},
      {"num_key_value_heads", spec.kv_heads},
      {"head_dim", spec.head_dim()},
      {"hidden_act", "silu"},
      {"max_position_embeddings", spec.seq_len},
      {"vocab_size", spec.vocab},
      {"rms_norm_eps", spec.norm_eps},
      // Where transformers 4 and 5 look for it.
      {"rope_theta", spec.rope_theta},
      {"rope_parameters", {{"rope_type", "default"}, {"rope_theta", spec.rope_theta}}},
      {"tie_word_embeddings", spec.tied_embeddings},
      {"attention_bias", false},
      {"mlp_bias", false},
      {"attention_dropout", 0.0},
      // The default ids are LLaMA's own tokenizer's; this vocabulary may have none of them.
      {"bos_token_id", nullptr},
      {"eos_token_id", nullptr},
      {"torch_dtype", "float32"},
  };
  return config.dump(2) + "\n";
}

absl::StatusOr<LlamaSpec> ParseLlamaConfig(const std::string& text, const std::string& source) {
  SDP_ASSIGN_OR_RETURN(const json config, ParseJson(text, source));
  try {
    return SpecFromConfig(config, source);
  } catch (const std::exception& error) {
    return absl::InvalidArgumentError(absl::StrCat(source, ": ", error.what()));
  }
}

absl::Status WriteLlamaConfig(const std::string& directory, const LlamaSpec& spec) {
  return WriteText(ConfigPath(directory), LlamaConfigJson(spec));
}

absl::StatusOr<LlamaSpec> ReadLlamaConfig(const std::string& directory) {
  SDP_ASSIGN_OR_RETURN(const std::string text, ReadText(ConfigPath(directory)));
  return ParseLlamaConfig(text, ConfigPath(directory));
}

absl::Status WriteSafetensorsIndex(const std::string& directory, const SafetensorsIndex& index) {
  const ordered_json object = {{"metadata", {{"total_size", index.total_bytes}}},
                               {"weight_map", index.file_of_tensor}};
  return WriteText(IndexPath(directory), object.dump(2) + "\n");
}

absl::StatusOr<SafetensorsIndex> ReadSafetensorsIndex(const std::string& directory) {
  SDP_ASSIGN_OR_RETURN(const std::string text, ReadText(IndexPath(directory)));
  SDP_ASSIGN_OR_RETURN(const json object, ParseJson(text, IndexPath(directory)));
  try {
    return IndexFromJson(object, IndexPath(directory));
  } catch (const std::exception& error) {
    return absl::InvalidArgumentError(absl::StrCat(IndexPath(directory), ": ", error.what()));
  }
}

}  // namespace sdp
