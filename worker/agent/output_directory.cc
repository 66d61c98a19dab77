#include "worker/agent/output_directory.h"

#include <fcntl.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "absl/strings/str_cat.h"

namespace sdp {
namespace {

absl::Status Problem(const std::string& directory, const std::string& what, int error) {
  const std::string text =
      absl::StrCat("output_directory ", directory, ": ", what, ": ", std::strerror(error),
                   "; name a folder that every worker can write to");
  if (error == EACCES || error == EPERM || error == EROFS) return absl::PermissionDeniedError(text);
  if (error == ENOSPC || error == EDQUOT) return absl::ResourceExhaustedError(text);
  return absl::FailedPreconditionError(text);
}

}  // namespace

absl::Status CheckOutputDirectory(const std::string& directory, Rank rank, int64_t bytes) {
  std::error_code error;
  std::filesystem::create_directories(directory, error);
  if (error) return Problem(directory, "cannot be created", error.value());

  const std::string probe = absl::StrCat(directory, "/.sdp-probe-", rank, "-", getpid());
  const int fd = open(probe.c_str(), O_CREAT | O_WRONLY | O_TRUNC | O_CLOEXEC, 0644);
  if (fd < 0) return Problem(directory, "cannot be written to", errno);
  const int write_error = write(fd, "sdp", 3) == 3 ? 0 : (errno != 0 ? errno : ENOSPC);
  close(fd);
  unlink(probe.c_str());
  if (write_error != 0) return Problem(directory, "cannot be written to", write_error);

  struct statvfs space;
  if (statvfs(directory.c_str(), &space) != 0) return Problem(directory, "cannot be examined", errno);
  const int64_t free_bytes = static_cast<int64_t>(space.f_bavail) * static_cast<int64_t>(space.f_frsize);
  if (free_bytes < bytes) {
    return absl::ResourceExhaustedError(absl::StrCat("output_directory ", directory, ": ", free_bytes,
                                                     " bytes are free, the exported model takes ", bytes));
  }
  return absl::OkStatus();
}

}  // namespace sdp
