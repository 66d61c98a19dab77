// A regular file that is read at given offsets.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"

namespace sdp {

// Reads go through the page cache, which the processes of a host share, as a mapping's would; but a file that
// is truncated or whose disk fails while in use gives an error here, where a mapping would end the process
// with SIGBUS. Thread-safe.
class RandomAccessFile {
 public:
  // NOT_FOUND, PERMISSION_DENIED: it cannot be opened; INVALID_ARGUMENT: a folder or another thing that is
  // not a regular file. All errors name the path.
  static absl::StatusOr<std::unique_ptr<RandomAccessFile>> Open(const std::string& path);
  ~RandomAccessFile();
  RandomAccessFile(const RandomAccessFile&) = delete;
  RandomAccessFile& operator=(const RandomAccessFile&) = delete;

  const std::string& path() const { return path_; }
  // Bytes of the file when it was opened.
  int64_t size() const { return size_; }

  // Fills `bytes` from `offset`. DATA_LOSS: the file is shorter by now; UNKNOWN: an error of the disk.
  absl::Status Read(int64_t offset, absl::Span<char> bytes) const;

 private:
  RandomAccessFile(std::string path, int descriptor, int64_t size);

  const std::string path_;
  const int descriptor_;
  const int64_t size_;
};

}  // namespace sdp
