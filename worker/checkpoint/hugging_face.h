// The files of an exported model, named and laid out as Hugging Face's libraries expect them.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/model/job_spec.h"

namespace sdp {

// "model.safetensors" for the only shard, else "model-00001-of-00004.safetensors"; `shard` counts from 0.
std::string SafetensorsFileName(int shard, int shards);

// Removes from `directory` what an earlier export into it left: files of a model that one in `shards` files
// does not have, and that readers would take for a part of it, or for the whole. FAILED_PRECONDITION or
// PERMISSION_DENIED names the file.
absl::Status RemoveOtherExports(const std::string& directory, int shards);

// config.json of a LlamaForCausalLM, as text.
std::string LlamaConfigJson(const LlamaSpec& spec);

// The reverse. INVALID_ARGUMENT begins with `source` (a file's name) and names the field: missing, of another
// type or out of range, or a variant that LlamaSpec cannot say (biases, scaled RoPE, another activation).
absl::StatusOr<LlamaSpec> ParseLlamaConfig(const std::string& text, const std::string& source);

// Write into and read from `directory`. Errors name the file, as those of AtomicFileWriter and
// RandomAccessFile.
absl::Status WriteLlamaConfig(const std::string& directory, const LlamaSpec& spec);
absl::StatusOr<LlamaSpec> ReadLlamaConfig(const std::string& directory);

// Which file holds which tensor of a model in several shards.
struct SafetensorsIndex {
  std::map<std::string, std::string> file_of_tensor;
  int64_t total_bytes = 0;  // of all tensors
};

// model.safetensors.index.json in `directory`. A model in one file has none.
absl::Status WriteSafetensorsIndex(const std::string& directory, const SafetensorsIndex& index);
// NOT_FOUND: no such file. INVALID_ARGUMENT: not an index, or a file name that leads out of the folder.
absl::StatusOr<SafetensorsIndex> ReadSafetensorsIndex(const std::string& directory);

}  // namespace sdp
