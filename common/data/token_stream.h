// The tokens of a shard on their way into a file: what the writers of all formats share.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "common/base/atomic_file_writer.h"

namespace sdp {

// Thread-compatible. Errors as in TokenShardWriter.
class TokenStream {
 public:
  static absl::StatusOr<TokenStream> Create(const std::string& path, int vocab, int token_bytes);

  // Checks the tokens and appends them.
  absl::Status Append(absl::Span<const int32_t> tokens);
  // FAILED_PRECONDITION: no token was written.
  absl::Status Commit();

  int64_t tokens() const { return tokens_; }
  AtomicFileWriter& file() { return *file_; }

 private:
  TokenStream(std::unique_ptr<AtomicFileWriter> file, int vocab, int token_bytes);

  std::unique_ptr<AtomicFileWriter> file_;
  int vocab_;
  int token_bytes_;
  int64_t tokens_ = 0;
  std::string coded_;  // scratch
};

}  // namespace sdp
