// One token shard, opened for reading.
#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "common/base/random_access_file.h"
#include "common/data/token_layout.h"
#include "common/model/job_spec.h"
#include "common/model/shard_fingerprint.h"

namespace sdp {

// Thread-safe.
class TokenShard {
 public:
  // Opens and checks the shard; kDetect tells the format from the content. Errors as TokenDataset::Open.
  static absl::StatusOr<TokenShard> Open(const std::string& path, DataFormat format, int vocab);

  int64_t tokens() const { return layout_.tokens; }
  const ShardFingerprint& fingerprint() const { return fingerprint_; }
  // Reads tokens [first, first + tokens.size()). Errors as ReadTokens.
  absl::Status Read(int64_t first, absl::Span<int64_t> tokens) const {
    return ReadTokens(*file_, layout_, vocab_, first, tokens);
  }

 private:
  TokenShard(std::unique_ptr<RandomAccessFile> file, TokenLayout layout, int vocab)
      : file_(std::move(file)), layout_(layout), vocab_(vocab) {}

  std::unique_ptr<RandomAccessFile> file_;
  TokenLayout layout_;
  int vocab_;
  ShardFingerprint fingerprint_;
};

}  // namespace sdp
