// Files of tensors in the safetensors format: a length, a JSON header, and the tensors one after another.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "common/base/atomic_file_writer.h"
#include "common/base/random_access_file.h"

namespace sdp {

// A float32 tensor in a file.
struct StoredTensor {
  std::string name;
  std::vector<int64_t> shape;

  int64_t elements() const;
};

// Writes one file. It appears under its name, over an older one, when it is complete. Errors of the system
// name the path: NOT_FOUND (no such folder), PERMISSION_DENIED, RESOURCE_EXHAUSTED (disk full). After an
// error, the writer is good for nothing but destruction, which leaves no file behind. Thread-compatible.
class SafetensorsWriter {
 public:
  // Declares all tensors, in the order in which their data will come. INVALID_ARGUMENT: two tensors of one
  // name, an empty name or "__metadata__", a negative dimension, a header above the format's 100 MB.
  static absl::StatusOr<std::unique_ptr<SafetensorsWriter>> Create(const std::string& path,
                                                                   std::vector<StoredTensor> tensors);

  // Appends elements of the tensor `name` in row-major order, whole or in pieces. FAILED_PRECONDITION names
  // the tensor whose turn it is, or the one that has all its elements already.
  absl::Status Write(const std::string& name, absl::Span<const float> elements);
  // Completes the file. FAILED_PRECONDITION names the first tensor that lacks elements.
  absl::Status Finish();

 private:
  SafetensorsWriter(std::unique_ptr<AtomicFileWriter> file, std::vector<StoredTensor> tensors);
  // Moves on to the next tensor that lacks elements.
  void SkipComplete();

  const std::unique_ptr<AtomicFileWriter> file_;
  const std::vector<StoredTensor> tensors_;
  size_t current_ = 0;   // index of the tensor whose turn it is
  int64_t written_ = 0;  // elements of it
};

// Reads one file of float32 tensors. Thread-safe.
class SafetensorsReader {
 public:
  // Opens the file and checks all of its header. NOT_FOUND, PERMISSION_DENIED: it cannot be opened;
  // INVALID_ARGUMENT names the file and the tensor: header too long or cut off, not JSON, a name twice, a
  // type other than F32, a shape that does not fit its bytes, holes, overlaps, bytes missing or left over.
  static absl::StatusOr<std::unique_ptr<SafetensorsReader>> Open(const std::string& path);

  // In the order of their data.
  const std::vector<StoredTensor>& tensors() const { return tensors_; }
  // Null: no tensor of this name.
  const StoredTensor* Find(const std::string& name) const;
  // From the header; Hugging Face's libraries want "format": "pt".
  const std::map<std::string, std::string>& metadata() const { return metadata_; }

  // Copies a whole tensor to `elements`. NOT_FOUND: no such tensor; INVALID_ARGUMENT: it has another number
  // of elements; DATA_LOSS: the file was truncated since it was opened.
  absl::Status Read(const std::string& name, absl::Span<float> elements) const;

 private:
  explicit SafetensorsReader(std::unique_ptr<RandomAccessFile> file) : file_(std::move(file)) {}

  std::unique_ptr<RandomAccessFile> file_;
  std::vector<StoredTensor> tensors_;
  std::vector<int64_t> offsets_;                 // [tensor]: first byte in the file
  std::map<std::string, size_t> index_by_name_;  // into tensors_
  std::map<std::string, std::string> metadata_;
};

}  // namespace sdp
