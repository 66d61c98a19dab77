#include "cli/byte_statistics.h"

#include <cmath>
#include <numeric>

namespace sdp::cli {

ByteCounts CountBytes(absl::string_view text) {
  ByteCounts counts{};
  for (const char c : text) ++counts[static_cast<uint8_t>(c)];
  return counts;
}

double UnigramEntropy(const ByteCounts& counts) {
  const auto total = static_cast<double>(std::accumulate(counts.begin(), counts.end(), int64_t{0}));
  double entropy = 0;
  for (const int64_t count : counts) {
    if (count == 0) continue;
    const double frequency = static_cast<double>(count) / total;
    entropy -= frequency * std::log(frequency);
  }
  return entropy;
}

double UnigramCrossEntropy(const ByteCounts& text, const ByteCounts& model) {
  const auto total = static_cast<double>(std::accumulate(text.begin(), text.end(), int64_t{0}));
  const auto model_total =
      static_cast<double>(std::accumulate(model.begin(), model.end(), static_cast<int64_t>(model.size())));
  double sum = 0;
  for (size_t byte = 0; byte < text.size(); ++byte) {
    sum -= static_cast<double>(text[byte]) * std::log(static_cast<double>(model[byte] + 1) / model_total);
  }
  return total > 0 ? sum / total : 0;
}

}  // namespace sdp::cli
