#include "common/data/token_stream.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"

namespace sdp {

absl::StatusOr<TokenStream> TokenStream::Create(const std::string& path, int vocab, int token_bytes) {
  if (vocab < 1 || (token_bytes == 2 && vocab > 65536)) {
    return absl::InvalidArgumentError(absl::StrCat("cannot write ", path, ": a vocabulary of ", vocab,
                                                   " tokens; it must have at least 1",
                                                   token_bytes == 2 ? " and at most 65536" : ""));
  }
  SDP_ASSIGN_OR_RETURN(std::unique_ptr<AtomicFileWriter> file, AtomicFileWriter::Create(path));
  return TokenStream(std::move(file), vocab, token_bytes);
}

TokenStream::TokenStream(std::unique_ptr<AtomicFileWriter> file, int vocab, int token_bytes)
    : file_(std::move(file)), vocab_(vocab), token_bytes_(token_bytes) {}

absl::Status TokenStream::Append(absl::Span<const int32_t> tokens) {
  coded_.clear();
  for (size_t i = 0; i < tokens.size(); ++i) {
    if (tokens[i] < 0 || tokens[i] >= vocab_) {
      return absl::InvalidArgumentError(absl::StrCat("cannot write ", file_->path(), ": token ", tokens[i],
                                                     " at position ", tokens_ + i,
                                                     " is outside the vocabulary of ", vocab_, " tokens"));
    }
    coded_.append(reinterpret_cast<const char*>(&tokens[i]), token_bytes_);
  }
  SDP_RETURN_IF_ERROR(file_->Append(coded_));
  tokens_ += tokens.size();
  return absl::OkStatus();
}

absl::Status TokenStream::Commit() {
  if (tokens_ == 0) {
    return absl::FailedPreconditionError(
        absl::StrCat("cannot write ", file_->path(), ": there is no token in it"));
  }
  return file_->Commit();
}

}  // namespace sdp
