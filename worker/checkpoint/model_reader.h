// An exported model, read back from its folder.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "common/model/job_spec.h"
#include "worker/checkpoint/safetensors.h"

namespace sdp {

// config.json and model.safetensors, or the shards of model.safetensors.index.json. Thread-safe.
class ModelReader {
 public:
  // Opens and checks all files. Errors name the file: NOT_FOUND, PERMISSION_DENIED, INVALID_ARGUMENT
  // (damaged, or the index and the shards do not have the same tensors).
  static absl::StatusOr<std::unique_ptr<ModelReader>> Open(const std::string& directory);

  const LlamaSpec& spec() const { return spec_; }
  // Copies the tensor `name`, which must have `elements.size()` elements. NOT_FOUND: no such tensor; else as
  // SafetensorsReader::Read.
  absl::Status Read(const std::string& name, absl::Span<float> elements) const;
  // Null: no tensor of this name.
  const StoredTensor* Find(const std::string& name) const;

 private:
  ModelReader(std::string directory, LlamaSpec spec) : directory_(std::move(directory)), spec_(spec) {}

  const std::string directory_;
  const LlamaSpec spec_;
  std::vector<std::unique_ptr<SafetensorsReader>> files_;
};

}  // namespace sdp
