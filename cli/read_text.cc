#include "cli/read_text.h"

#include <cerrno>
#include <fstream>
#include <istream>

#include "absl/strings/str_cat.h"

namespace sdp::cli {

absl::StatusOr<std::string> ReadText(const std::string& path, std::istream& standard_input) {
  std::ifstream file;
  if (path != "-") {
    errno = 0;
    file.open(path, std::ios::binary);
    if (!file) return absl::ErrnoToStatus(errno != 0 ? errno : EIO, absl::StrCat("cannot open ", path));
  }
  std::istream& in = path == "-" ? standard_input : file;
  errno = 0;
  std::string text;
  char chunk[1 << 16];
  do {
    in.read(chunk, sizeof(chunk));  // turns the exceptions of a stream buffer into a bad stream
    text.append(chunk, static_cast<size_t>(in.gcount()));
  } while (in);
  if (in.bad()) return absl::ErrnoToStatus(errno != 0 ? errno : EIO, absl::StrCat("cannot read ", path));
  return text;
}

}  // namespace sdp::cli
