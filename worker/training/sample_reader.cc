#include "worker/training/sample_reader.h"

#include <algorithm>
#include <utility>

#include "common/base/status_macros.h"

namespace sdp {

TokenRows TokenRows::Part(int begin, int count) const {
  const size_t first = static_cast<size_t>(begin) * tokens;
  const size_t size = static_cast<size_t>(count) * tokens;
  return {count, tokens, inputs.subspan(first, size), targets.subspan(first, size)};
}

SampleReader::SampleReader(std::shared_ptr<const TokenDataset> dataset, int seq_len)
    : dataset_(std::move(dataset)), seq_len_(seq_len), sequence_(seq_len + 1) {}

absl::Status SampleReader::Read(absl::Span<const int64_t> indices) {
  rows_ = static_cast<int>(indices.size());
  inputs_.resize(indices.size() * seq_len_);
  targets_.resize(indices.size() * seq_len_);
  auto input = inputs_.begin();
  auto target = targets_.begin();
  for (const int64_t index : indices) {
    SDP_RETURN_IF_ERROR(dataset_->Read(index, absl::MakeSpan(sequence_)));
    input = std::copy(sequence_.begin(), sequence_.end() - 1, input);
    target = std::copy(sequence_.begin() + 1, sequence_.end(), target);
  }
  return absl::OkStatus();
}

TokenRows SampleReader::rows() const { return {rows_, seq_len_, inputs_, targets_}; }

std::vector<int64_t> EvenlySpaced(int64_t available, int64_t count) {
  if (count <= 0 || count > available) count = available;
  std::vector<int64_t> indices(count);
  for (int64_t i = 0; i < count; ++i) indices[i] = i * available / count;
  return indices;
}

}  // namespace sdp
