// A file that appears under its name complete, or not at all.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace sdp {

// Writes to a temporary name in the same folder; Commit puts the file in its place, over an older one. All
// errors name the path: NOT_FOUND (no such folder), PERMISSION_DENIED, RESOURCE_EXHAUSTED (disk full, quota
// or size limit), FAILED_PRECONDITION (the path is a folder), UNKNOWN (an error of the disk). After
// an error, and without a Commit, the destructor removes the temporary file. Thread-compatible.
class AtomicFileWriter {
 public:
  static absl::StatusOr<std::unique_ptr<AtomicFileWriter>> Create(const std::string& path);
  ~AtomicFileWriter();
  AtomicFileWriter(const AtomicFileWriter&) = delete;
  AtomicFileWriter& operator=(const AtomicFileWriter&) = delete;

  const std::string& path() const { return path_; }
  // Bytes appended so far.
  int64_t size() const { return size_; }

  // Buffered.
  absl::Status Append(absl::string_view bytes);
  // Overwrites bytes that were appended before; for headers that are known at the end.
  absl::Status Overwrite(int64_t offset, absl::string_view bytes);
  // Flushes to the disk and renames. Nothing may be written afterwards.
  absl::Status Commit();

 private:
  AtomicFileWriter(std::string path, std::string temporary_path, int descriptor);
  absl::Status Flush();
  absl::Status WriteFully(absl::string_view bytes);

  const std::string path_;
  const std::string temporary_path_;
  int descriptor_;  // -1 once closed
  bool committed_ = false;
  int64_t size_ = 0;
  std::vector<char> buffer_;
};

}  // namespace sdp
