#include "common/base/process_stats.h"

#include <dirent.h>

#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/base/status_macros.h"

namespace sdp {
namespace {

constexpr char kStatusFile[] = "/proc/self/status";
constexpr char kDescriptorFolder[] = "/proc/self/fd";

// The number in a line such as "VmRSS:     1234 kB".
absl::StatusOr<int64_t> NumberIn(const std::string& line) {
  const std::vector<std::string> words = absl::StrSplit(line, absl::ByAnyChar(" \t"), absl::SkipEmpty());
  int64_t value = 0;
  if (words.size() < 2 || !absl::SimpleAtoi(words[1], &value)) {
    return absl::InternalError(absl::StrCat(kStatusFile, ": no number in \"", line, "\""));
  }
  return value;
}

absl::StatusOr<int> CountOpenFileDescriptors() {
  const std::unique_ptr<DIR, int (*)(DIR*)> folder(opendir(kDescriptorFolder), closedir);
  if (folder == nullptr) return absl::InternalError(absl::StrCat("cannot open ", kDescriptorFolder));
  int count = 0;
  while (const dirent* entry = readdir(folder.get())) {
    if (entry->d_name[0] != '.') ++count;
  }
  return count - 1;  // the folder's own
}

}  // namespace

absl::StatusOr<ProcessStats> ReadProcessStats() {
  ProcessStats stats;
  std::ifstream file(kStatusFile);
  std::string line;
  bool has_resident = false;
  bool has_threads = false;
  while (std::getline(file, line)) {
    if (absl::StartsWith(line, "VmRSS:")) {
      SDP_ASSIGN_OR_RETURN(const int64_t kibibytes, NumberIn(line));
      stats.resident_bytes = kibibytes * 1024;
      has_resident = true;
    } else if (absl::StartsWith(line, "Threads:")) {
      SDP_ASSIGN_OR_RETURN(const int64_t threads, NumberIn(line));
      stats.threads = static_cast<int>(threads);
      has_threads = true;
    }
  }
  if (!has_resident || !has_threads) {
    return absl::InternalError(absl::StrCat(kStatusFile, ": no line VmRSS or Threads"));
  }
  SDP_ASSIGN_OR_RETURN(stats.open_file_descriptors, CountOpenFileDescriptors());
  return stats;
}

}  // namespace sdp
