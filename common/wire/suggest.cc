#include "common/wire/suggest.h"

#include <algorithm>
#include <numeric>

#include "absl/strings/ascii.h"

namespace sdp {
namespace {

std::string Normalized(absl::string_view name) {
  std::string letters;
  for (const char c : name) {
    if (c != '_' && c != '-') letters += absl::ascii_tolower(static_cast<unsigned char>(c));
  }
  return letters;
}

// Levenshtein distance.
size_t EditDistance(const std::string& a, const std::string& b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), 0);
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t above = row[j];
      row[j] = std::min({above + 1, row[j - 1] + 1, diagonal + (a[i - 1] != b[j - 1])});
      diagonal = above;
    }
  }
  return row[b.size()];
}

}  // namespace

std::string ClosestName(absl::string_view name, const std::vector<std::string>& candidates) {
  constexpr size_t kLongestName = 64;  // a name far longer than any candidate is no misspelling
  if (name.size() > kLongestName) return "";
  const std::string wanted = Normalized(name);
  std::string best;
  size_t best_distance = std::max<size_t>(1, wanted.size() / 3) + 1;
  for (const std::string& candidate : candidates) {
    const size_t distance = EditDistance(wanted, Normalized(candidate));
    if (distance < best_distance) {
      best = candidate;
      best_distance = distance;
    }
  }
  return best;
}

}  // namespace sdp
