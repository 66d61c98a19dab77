#include "worker/checkpoint/safetensors.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/base/status_macros.h"
#include "worker/checkpoint/safetensors_header.h"

namespace sdp {

static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
              "safetensors are little-endian and read as they are");

int64_t StoredTensor::elements() const {
  int64_t elements = 1;
  for (const int64_t dimension : shape) elements *= dimension;
  return elements;
}

absl::StatusOr<std::unique_ptr<SafetensorsWriter>> SafetensorsWriter::Create(
    const std::string& path, std::vector<StoredTensor> tensors) {
  SDP_ASSIGN_OR_RETURN(const std::string header, FormatSafetensorsHeader(tensors, path));
  SDP_ASSIGN_OR_RETURN(auto file, AtomicFileWriter::Create(path));
  const uint64_t length = header.size();
  SDP_RETURN_IF_ERROR(file->Append({reinterpret_cast<const char*>(&length), sizeof(length)}));
  SDP_RETURN_IF_ERROR(file->Append(header));
  return std::unique_ptr<SafetensorsWriter>(new SafetensorsWriter(std::move(file), std::move(tensors)));
}

SafetensorsWriter::SafetensorsWriter(std::unique_ptr<AtomicFileWriter> file,
                                     std::vector<StoredTensor> tensors)
    : file_(std::move(file)), tensors_(std::move(tensors)) {
  SkipComplete();
}

void SafetensorsWriter::SkipComplete() {
  while (current_ < tensors_.size() && written_ == tensors_[current_].elements()) {
    ++current_;
    written_ = 0;
  }
}

absl::Status SafetensorsWriter::Write(const std::string& name, absl::Span<const float> elements) {
  if (elements.empty()) return absl::OkStatus();
  if (current_ == tensors_.size()) {
    return absl::FailedPreconditionError(absl::StrCat(file_->path(), ": elements of tensor \"", name,
                                                      "\", but all declared tensors are complete"));
  }
  const StoredTensor& tensor = tensors_[current_];
  if (name != tensor.name) {
    return absl::FailedPreconditionError(absl::StrCat(file_->path(), ": elements of tensor \"", name,
                                                      "\"; it is the turn of \"", tensor.name, "\""));
  }
  if (static_cast<int64_t>(elements.size()) > tensor.elements() - written_) {
    return absl::FailedPreconditionError(absl::StrCat(file_->path(), ": tensor \"", name, "\" has ",
                                                      tensor.elements(), " elements, not ",
                                                      written_ + elements.size()));
  }
  SDP_RETURN_IF_ERROR(
      file_->Append({reinterpret_cast<const char*>(elements.data()), elements.size() * sizeof(float)}));
  written_ += elements.size();
  SkipComplete();
  return absl::OkStatus();
}

absl::Status SafetensorsWriter::Finish() {
  if (current_ < tensors_.size()) {
    const StoredTensor& tensor = tensors_[current_];
    return absl::FailedPreconditionError(absl::StrCat(file_->path(), ": tensor \"", tensor.name,
                                                      "\" has only ", written_, " of its ", tensor.elements(),
                                                      " elements"));
  }
  return file_->Commit();
}

absl::StatusOr<std::unique_ptr<SafetensorsReader>> SafetensorsReader::Open(const std::string& path) {
  SDP_ASSIGN_OR_RETURN(auto file, RandomAccessFile::Open(path));
  uint64_t length = 0;
  const int64_t after_length = file->size() - static_cast<int64_t>(sizeof(length));
  if (after_length < 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        path, ": truncated: ", file->size(), " bytes; a safetensors file has at least ", sizeof(length)));
  }
  SDP_RETURN_IF_ERROR(file->Read(0, {reinterpret_cast<char*>(&length), sizeof(length)}));
  if (length > static_cast<uint64_t>(kMaxSafetensorsHeader)) {
    return absl::InvalidArgumentError(absl::StrCat(path, ": not a safetensors file: its header would have ",
                                                   length, " bytes; at most ", kMaxSafetensorsHeader,
                                                   " are allowed"));
  }
  if (length > static_cast<uint64_t>(after_length)) {
    return absl::InvalidArgumentError(absl::StrCat(path, ": truncated: its header has ", length,
                                                   " bytes, the file only ", after_length,
                                                   " after the length"));
  }
  std::string text(length, '\0');
  SDP_RETURN_IF_ERROR(file->Read(sizeof(length), absl::MakeSpan(text)));
  const int64_t data_begin = static_cast<int64_t>(sizeof(length) + length);
  SDP_ASSIGN_OR_RETURN(SafetensorsHeader header,
                       ParseSafetensorsHeader(text, file->size() - data_begin, path));

  std::unique_ptr<SafetensorsReader> reader(new SafetensorsReader(std::move(file)));
  reader->tensors_ = std::move(header.tensors);
  reader->metadata_ = std::move(header.metadata);
  for (size_t i = 0; i < reader->tensors_.size(); ++i) {
    reader->offsets_.push_back(data_begin + header.offsets[i]);
    reader->index_by_name_[reader->tensors_[i].name] = i;
  }
  return reader;
}

const StoredTensor* SafetensorsReader::Find(const std::string& name) const {
  const auto found = index_by_name_.find(name);
  return found == index_by_name_.end() ? nullptr : &tensors_[found->second];
}

absl::Status SafetensorsReader::Read(const std::string& name, absl::Span<float> elements) const {
  const auto found = index_by_name_.find(name);
  if (found == index_by_name_.end()) {
    return absl::NotFoundError(absl::StrCat(file_->path(), ": no tensor \"", name, "\""));
  }
  const StoredTensor& tensor = tensors_[found->second];
  if (tensor.elements() != static_cast<int64_t>(elements.size())) {
    return absl::InvalidArgumentError(absl::StrCat(file_->path(), ": tensor \"", name, "\" has shape [",
                                                   absl::StrJoin(tensor.shape, ", "), "], ",
                                                   tensor.elements(), " elements, not ", elements.size()));
  }
  return file_->Read(offsets_[found->second],
                     {reinterpret_cast<char*>(elements.data()), elements.size() * sizeof(float)});
}

}  // namespace sdp
