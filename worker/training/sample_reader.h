// Sequences of a data set as rows of inputs and targets.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "common/data/token_dataset.h"

namespace sdp {

// Some rows (sequences) of tokens; the targets are the inputs moved on by one.
struct TokenRows {
  int rows = 0;
  int tokens = 0;                     // of one row
  absl::Span<const int64_t> inputs;   // (rows, tokens)
  absl::Span<const int64_t> targets;  // (rows, tokens)

  // Rows [begin, begin + count).
  TokenRows Part(int begin, int count) const;
};

// Reads sequences into buffers that it keeps.
class SampleReader {
 public:
  SampleReader(std::shared_ptr<const TokenDataset> dataset, int seq_len);

  // Replaces the rows by the sequences `indices`. Errors are those of TokenDataset::Read.
  absl::Status Read(absl::Span<const int64_t> indices);
  // Valid until the next Read.
  TokenRows rows() const;

  const TokenDataset& dataset() const { return *dataset_; }

 private:
  const std::shared_ptr<const TokenDataset> dataset_;
  const int seq_len_;
  int rows_ = 0;
  std::vector<int64_t> sequence_;  // seq_len + 1 tokens
  std::vector<int64_t> inputs_;
  std::vector<int64_t> targets_;
};

// `count` of [0, available), evenly spaced and ascending; all of them when `count` is 0 or larger.
std::vector<int64_t> EvenlySpaced(int64_t available, int64_t count);

}  // namespace sdp
