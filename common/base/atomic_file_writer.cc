#include "common/base/atomic_file_writer.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <random>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/check.h"
#include "common/base/status_macros.h"

namespace sdp {
namespace {

constexpr size_t kBufferBytes = 1 << 20;

absl::Status WriteError(int error, const std::string& path) {
  const std::string message = absl::StrCat("cannot write ", path);
  // A process's or file system's limit on file sizes is for the user what a full disk is.
  if (error == EFBIG) return absl::ResourceExhaustedError(absl::StrCat(message, ": file too large"));
  return absl::ErrnoToStatus(error, message);
}

// Random, so that two writers of one path cannot meet, be it from two hosts.
std::string TemporaryPath(const std::string& path) {
  std::random_device random;
  const uint64_t bits = (uint64_t{random()} << 32) | random();
  return absl::StrCat(path, ".tmp-", absl::Hex(bits, absl::kZeroPad16));
}

// Makes a rename in the folder of `path` survive a power failure.
absl::Status SyncFolderOf(const std::string& path) {
  const size_t slash = path.rfind('/');
  const std::string folder = slash == std::string::npos ? "." : path.substr(0, slash + 1);
  const int descriptor = open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) return WriteError(errno, folder);
  const int error = fsync(descriptor) == 0 ? 0 : errno;
  close(descriptor);
  // Some network file systems cannot sync folders, and need not.
  return error == 0 || error == EINVAL ? absl::OkStatus() : WriteError(error, folder);
}

}  // namespace

absl::StatusOr<std::unique_ptr<AtomicFileWriter>> AtomicFileWriter::Create(const std::string& path) {
  struct stat properties {};
  if (stat(path.c_str(), &properties) == 0 && S_ISDIR(properties.st_mode)) {
    return absl::FailedPreconditionError(absl::StrCat("cannot write ", path, ": it is a folder"));
  }
  std::string temporary_path = TemporaryPath(path);
  const int descriptor = open(temporary_path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (descriptor < 0) return WriteError(errno, path);
  return std::unique_ptr<AtomicFileWriter>(new AtomicFileWriter(path, std::move(temporary_path), descriptor));
}

AtomicFileWriter::AtomicFileWriter(std::string path, std::string temporary_path, int descriptor)
    : path_(std::move(path)), temporary_path_(std::move(temporary_path)), descriptor_(descriptor) {
  buffer_.reserve(kBufferBytes);
}

AtomicFileWriter::~AtomicFileWriter() {
  if (descriptor_ >= 0) close(descriptor_);
  if (!committed_) unlink(temporary_path_.c_str());
}

absl::Status AtomicFileWriter::Append(absl::string_view bytes) {
  if (buffer_.size() + bytes.size() > kBufferBytes) SDP_RETURN_IF_ERROR(Flush());
  if (bytes.size() > kBufferBytes) {
    SDP_RETURN_IF_ERROR(WriteFully(bytes));
  } else {
    buffer_.insert(buffer_.end(), bytes.begin(), bytes.end());
  }
  size_ += bytes.size();
  return absl::OkStatus();
}

absl::Status AtomicFileWriter::Overwrite(int64_t offset, absl::string_view bytes) {
  SDP_CHECK(offset >= 0 && offset + static_cast<int64_t>(bytes.size()) <= size_, path_.c_str());
  SDP_RETURN_IF_ERROR(Flush());
  while (!bytes.empty()) {
    const ssize_t count = pwrite(descriptor_, bytes.data(), bytes.size(), offset);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return WriteError(errno, path_);
    offset += count;
    bytes.remove_prefix(count);
  }
  return absl::OkStatus();
}

absl::Status AtomicFileWriter::Commit() {
  SDP_RETURN_IF_ERROR(Flush());
  if (fsync(descriptor_) != 0) return WriteError(errno, path_);
  // Network file systems report what went wrong with earlier writes when the file is closed.
  if (close(std::exchange(descriptor_, -1)) != 0) return WriteError(errno, path_);
  if (rename(temporary_path_.c_str(), path_.c_str()) != 0) return WriteError(errno, path_);
  committed_ = true;
  return SyncFolderOf(path_);
}

absl::Status AtomicFileWriter::Flush() {
  SDP_RETURN_IF_ERROR(WriteFully({buffer_.data(), buffer_.size()}));
  buffer_.clear();
  return absl::OkStatus();
}

absl::Status AtomicFileWriter::WriteFully(absl::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t count = write(descriptor_, bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return WriteError(errno, path_);
    bytes.remove_prefix(count);
  }
  return absl::OkStatus();
}

}  // namespace sdp
