// Token shards as a list of training sequences. The tokens stay in the files and the system's page cache,
// which the workers of a host share.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "common/model/job_spec.h"
#include "common/model/shard_fingerprint.h"

namespace sdp {

// Sequence i of a shard is its tokens [i*seq_len, (i+1)*seq_len] (seq_len + 1 tokens, so neighbours share
// one); no sequence crosses a shard. Thread-compatible.
class TokenDataset {
 public:
  // Opens and checks all shards. Errors name the file and say what was wrong and what would be right:
  //   NOT_FOUND, PERMISSION_DENIED: the file cannot be opened;
  //   INVALID_ARGUMENT: not of `format`, truncated, of unknown version, or with a token that is not below
  //   `vocab` among
  //     those sampled;
  //   FAILED_PRECONDITION: no shard holds one whole sequence.
  static absl::StatusOr<std::unique_ptr<TokenDataset>> Open(const std::vector<std::string>& paths,
                                                            DataFormat format, int vocab, int seq_len);
  virtual ~TokenDataset() = default;

  // Number of sequences.
  virtual int64_t sequences() const = 0;
  // Copies sequence `index` (in [0, sequences())) to `tokens` (size seq_len + 1). INVALID_ARGUMENT: a token
  // is not below the vocabulary; names the file and the token's position. DATA_LOSS: the file was truncated
  // since it was opened.
  virtual absl::Status Read(int64_t index, absl::Span<int64_t> tokens) const = 0;
  virtual const std::vector<ShardFingerprint>& fingerprints() const = 0;
};

}  // namespace sdp
