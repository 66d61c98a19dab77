// How predictable a text is byte by byte: the yardstick for losses of byte-level models.
#pragma once

#include <array>
#include <cstdint>

#include "absl/strings/string_view.h"

namespace sdp::cli {

// Occurrences of each byte.
using ByteCounts = std::array<int64_t, 256>;

ByteCounts CountBytes(absl::string_view text);

// Shannon entropy of the byte frequencies, in nats per byte: the least loss of a model that knows only these
// frequencies. 0 for no bytes.
double UnigramEntropy(const ByteCounts& counts);

// Mean loss on `text` of a model that predicts the byte frequencies of `model`, in nats per byte. Each count
// is one higher than it is (Laplace), so a byte that `model` never saw costs much but not infinitely much. 0
// for no bytes.
double UnigramCrossEntropy(const ByteCounts& text, const ByteCounts& model);

}  // namespace sdp::cli
