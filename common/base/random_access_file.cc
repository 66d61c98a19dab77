#include "common/base/random_access_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "absl/strings/str_cat.h"

namespace sdp {

absl::StatusOr<std::unique_ptr<RandomAccessFile>> RandomAccessFile::Open(const std::string& path) {
  // Without O_NONBLOCK, opening a pipe would wait for its writer.
  const int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0) return absl::ErrnoToStatus(errno, absl::StrCat("cannot open ", path));
  struct stat properties {};
  if (fstat(descriptor, &properties) != 0) {
    const int error = errno;
    close(descriptor);
    return absl::ErrnoToStatus(error, absl::StrCat("cannot read the size of ", path));
  }
  if (!S_ISREG(properties.st_mode)) {
    close(descriptor);
    return absl::InvalidArgumentError(absl::StrCat(
        path, S_ISDIR(properties.st_mode) ? " is a folder" : " is not a regular file", "; name a file"));
  }
  return std::unique_ptr<RandomAccessFile>(new RandomAccessFile(path, descriptor, properties.st_size));
}

RandomAccessFile::RandomAccessFile(std::string path, int descriptor, int64_t size)
    : path_(std::move(path)), descriptor_(descriptor), size_(size) {}

RandomAccessFile::~RandomAccessFile() { close(descriptor_); }

absl::Status RandomAccessFile::Read(int64_t offset, absl::Span<char> bytes) const {
  while (!bytes.empty()) {
    const ssize_t count = pread(descriptor_, bytes.data(), bytes.size(), offset);
    if (count > 0) {
      offset += count;
      bytes.remove_prefix(count);
    } else if (count == 0) {
      return absl::DataLossError(absl::StrCat(path_, " has ", offset, " bytes; it had ", size_,
                                              " when it was opened, and ", bytes.size(), " more are needed"));
    } else if (errno != EINTR) {
      return absl::ErrnoToStatus(errno, absl::StrCat("cannot read ", path_));
    }
  }
  return absl::OkStatus();
}

}  // namespace sdp
