// Rows of tokens as tensors. Included by files that use LibTorch only.
#pragma once

#include "ATen/ops/from_blob.h"
#include "worker/models/model.h"
#include "worker/training/sample_reader.h"

namespace sdp {

// Views of the rows' own memory.
inline Batch BatchOf(const TokenRows& rows) {
  // from_blob takes mutable pointers; nothing writes to tokens.
  const auto tensor = [&rows](absl::Span<const int64_t> tokens) {
    return at::from_blob(const_cast<int64_t*>(tokens.data()), {rows.rows, rows.tokens}, at::kLong);
  };
  return {tensor(rows.inputs), tensor(rows.targets)};
}

}  // namespace sdp
