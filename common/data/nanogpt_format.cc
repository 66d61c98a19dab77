#include "common/data/nanogpt_format.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "common/data/llmc_format.h"
#include "common/data/token_stream.h"

namespace sdp {
namespace {

constexpr int kTokenBytes = 2;

class NanogptWriter : public TokenShardWriter {
 public:
  explicit NanogptWriter(TokenStream stream) : stream_(std::move(stream)) {}
  absl::Status Append(absl::Span<const int32_t> tokens) override { return stream_.Append(tokens); }
  absl::Status EndDocument() override { return absl::OkStatus(); }
  absl::Status Finish() override { return stream_.Commit(); }

 private:
  TokenStream stream_;
};

}  // namespace

absl::StatusOr<TokenLayout> ReadNanogptLayout(const RandomAccessFile& file) {
  if (file.size() % kTokenBytes != 0) {
    return ShardError(file, absl::StrCat("truncated, or not a nanoGPT shard: ", file.size(),
                                         " bytes is an odd number, and each token has ", kTokenBytes));
  }
  // Every even number of bytes could be a nanoGPT shard. One whose header fits its length is none.
  if (ReadLlmcLayout(file).ok()) {
    return ShardError(file, "an llm.c shard, not a nanoGPT shard: set the format to llmc or leave it out");
  }
  return TokenLayout{0, file.size() / kTokenBytes, kTokenBytes};
}

absl::StatusOr<std::unique_ptr<TokenShardWriter>> CreateNanogptWriter(const std::string& path, int vocab) {
  SDP_ASSIGN_OR_RETURN(TokenStream stream, TokenStream::Create(path, vocab, kTokenBytes));
  return std::make_unique<NanogptWriter>(std::move(stream));
}

}  // namespace sdp
