#include "common/data/token_dataset.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/base/check.h"
#include "common/base/status_macros.h"
#include "common/data/token_shard.h"

namespace sdp {
namespace {

class ShardedDataset : public TokenDataset {
 public:
  ShardedDataset(std::vector<TokenShard> shards, int seq_len)
      : shards_(std::move(shards)), seq_len_(seq_len) {
    int64_t sequences = 0;
    for (const TokenShard& shard : shards_) {
      sequences += SequencesIn(shard);
      ends_.push_back(sequences);
      fingerprints_.push_back(shard.fingerprint());
    }
  }

  int64_t sequences() const override { return ends_.back(); }

  absl::Status Read(int64_t index, absl::Span<int64_t> tokens) const override {
    SDP_CHECK(index >= 0 && index < sequences(), "sequence index out of range");
    SDP_CHECK(tokens.size() == static_cast<size_t>(seq_len_) + 1, "a sequence is read whole");
    const size_t shard = std::upper_bound(ends_.begin(), ends_.end(), index) - ends_.begin();
    const int64_t index_in_shard = index - (shard == 0 ? 0 : ends_[shard - 1]);
    return shards_[shard].Read(index_in_shard * seq_len_, tokens);
  }

  const std::vector<ShardFingerprint>& fingerprints() const override { return fingerprints_; }

 private:
  int64_t SequencesIn(const TokenShard& shard) const { return (shard.tokens() - 1) / seq_len_; }

  const std::vector<TokenShard> shards_;
  const int seq_len_;
  std::vector<int64_t> ends_;  // [shard]: sequences in it and in those before it
  std::vector<ShardFingerprint> fingerprints_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<TokenDataset>> TokenDataset::Open(const std::vector<std::string>& paths,
                                                                 DataFormat format, int vocab, int seq_len) {
  SDP_CHECK(vocab > 0 && seq_len > 0, "the spec is validated before its data is opened");
  if (paths.empty()) return absl::InvalidArgumentError("no shards; name at least one file");
  std::vector<TokenShard> shards;
  int64_t longest = 0;
  for (const std::string& path : paths) {
    SDP_ASSIGN_OR_RETURN(TokenShard shard, TokenShard::Open(path, format, vocab));
    longest = std::max(longest, shard.tokens());
    shards.push_back(std::move(shard));
  }
  if (longest <= seq_len) {
    return absl::FailedPreconditionError(absl::StrCat(
        absl::StrJoin(paths, ", "), ": no whole sequence; it needs ", seq_len + 1,
        " tokens of one shard (the sequence length and one more), the longest shard has ", longest));
  }
  return std::make_unique<ShardedDataset>(std::move(shards), seq_len);
}

}  // namespace sdp
