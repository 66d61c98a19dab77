#include "worker/checkpoint/model_reader.h"

#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "worker/checkpoint/hugging_face.h"

namespace sdp {
namespace {

// Opens the files of an index by name, and checks that they have the tensors that it says and no others.
absl::StatusOr<std::vector<std::unique_ptr<SafetensorsReader>>> OpenShards(const std::string& directory,
                                                                           const SafetensorsIndex& index) {
  std::map<std::string, std::unique_ptr<SafetensorsReader>> files;
  for (const auto& [tensor, name] : index.file_of_tensor) {
    std::unique_ptr<SafetensorsReader>& file = files[name];
    if (file == nullptr) {
      SDP_ASSIGN_OR_RETURN(file, SafetensorsReader::Open(absl::StrCat(directory, "/", name)));
    }
    if (file->Find(tensor) == nullptr) {
      return absl::InvalidArgumentError(
          absl::StrCat(directory, "/", name, ": no tensor \"", tensor, "\", which the index says is there"));
    }
  }
  std::vector<std::unique_ptr<SafetensorsReader>> opened;
  for (auto& [name, file] : files) {
    for (const StoredTensor& tensor : file->tensors()) {
      const auto found = index.file_of_tensor.find(tensor.name);
      if (found == index.file_of_tensor.end() || found->second != name) {
        return absl::InvalidArgumentError(absl::StrCat(directory, "/", name, ": tensor \"", tensor.name,
                                                       "\" is not in this file by the index"));
      }
    }
    opened.push_back(std::move(file));
  }
  return opened;
}

}  // namespace

absl::StatusOr<std::unique_ptr<ModelReader>> ModelReader::Open(const std::string& directory) {
  SDP_ASSIGN_OR_RETURN(const LlamaSpec spec, ReadLlamaConfig(directory));
  std::unique_ptr<ModelReader> reader(new ModelReader(directory, spec));
  // The single file first, as the usual libraries do.
  auto file = SafetensorsReader::Open(absl::StrCat(directory, "/", SafetensorsFileName(0, 1)));
  if (file.ok()) {
    reader->files_.push_back(*std::move(file));
  } else if (absl::IsNotFound(file.status())) {
    SDP_ASSIGN_OR_RETURN(const SafetensorsIndex index, ReadSafetensorsIndex(directory));
    SDP_ASSIGN_OR_RETURN(reader->files_, OpenShards(directory, index));
  } else {
    return file.status();
  }
  return reader;
}

const StoredTensor* ModelReader::Find(const std::string& name) const {
  for (const auto& file : files_) {
    if (const StoredTensor* tensor = file->Find(name); tensor != nullptr) return tensor;
  }
  return nullptr;
}

absl::Status ModelReader::Read(const std::string& name, absl::Span<float> elements) const {
  for (const auto& file : files_) {
    if (file->Find(name) != nullptr) return file->Read(name, elements);
  }
  return absl::NotFoundError(absl::StrCat(directory_, ": no tensor \"", name, "\" in the model"));
}

}  // namespace sdp
