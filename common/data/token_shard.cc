#include "common/data/token_shard.h"

#include <xxhash.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "common/data/llmc_format.h"
#include "common/data/megatron_format.h"
#include "common/data/nanogpt_format.h"

namespace sdp {
namespace {

// What is looked at when a shard is opened: the whole of a small one, evenly spread blocks of a large one.
constexpr int64_t kSampledBlocks = 64;
constexpr int64_t kBlockTokens = 2048;
constexpr int64_t kBlockBytes = 4096;

// Calls visit(begin, size) for blocks of `block` items among `total`: all items when they are few, else
// kSampledBlocks blocks from the first item to the last.
template <typename Visit>
absl::Status VisitBlocks(int64_t total, int64_t block, const Visit& visit) {
  if (total <= kSampledBlocks * block) {
    for (int64_t begin = 0; begin < total; begin += block) {
      SDP_RETURN_IF_ERROR(visit(begin, std::min(block, total - begin)));
    }
    return absl::OkStatus();
  }
  const int64_t last = total - block;
  // last / n * i first: last * i may overflow.
  for (int64_t i = 0; i + 1 < kSampledBlocks; ++i) {
    SDP_RETURN_IF_ERROR(visit(last / (kSampledBlocks - 1) * i, block));
  }
  return visit(last, block);
}

absl::StatusOr<DataFormat> DetectFormat(const std::string& path, const RandomAccessFile& file) {
  SDP_ASSIGN_OR_RETURN(const bool is_index, HasMegatronMagic(file));
  if (is_index) return DataFormat::kMegatron;
  const std::string sibling = MegatronSibling(path);
  if (!sibling.empty()) {
    const auto sibling_file = RandomAccessFile::Open(sibling);
    if (sibling_file.ok()) {
      SDP_ASSIGN_OR_RETURN(const bool has_index, HasMegatronMagic(**sibling_file));
      if (has_index) return DataFormat::kMegatron;
    }
  }
  SDP_ASSIGN_OR_RETURN(const bool is_llmc, HasLlmcMagic(file));
  return is_llmc ? DataFormat::kLlmc : DataFormat::kNanogpt;
}

absl::StatusOr<ShardFingerprint> Fingerprint(const std::string& path, const RandomAccessFile& file,
                                             const TokenLayout& layout) {
  const std::unique_ptr<XXH3_state_t, XXH_errorcode (*)(XXH3_state_t*)> state(XXH3_createState(),
                                                                              XXH3_freeState);
  XXH3_64bits_reset(state.get());
  for (const int64_t number : {file.size(), layout.first_byte, layout.tokens, int64_t{layout.token_bytes}}) {
    XXH3_64bits_update(state.get(), &number, sizeof(number));
  }
  std::vector<char> block(kBlockBytes);
  SDP_RETURN_IF_ERROR(VisitBlocks(file.size(), kBlockBytes, [&](int64_t begin, int64_t size) -> absl::Status {
    SDP_RETURN_IF_ERROR(file.Read(begin, {block.data(), static_cast<size_t>(size)}));
    XXH3_64bits_update(state.get(), block.data(), size);
    return absl::OkStatus();
  }));
  const uint64_t hash = XXH3_64bits_digest(state.get());
  return ShardFingerprint{path, file.size(), absl::StrCat(absl::Hex(hash, absl::kZeroPad16))};
}

}  // namespace

absl::StatusOr<TokenShard> TokenShard::Open(const std::string& path, DataFormat format, int vocab) {
  SDP_ASSIGN_OR_RETURN(std::unique_ptr<RandomAccessFile> file, RandomAccessFile::Open(path));
  if (file->size() == 0) return ShardError(*file, "the file is empty");
  if (format == DataFormat::kDetect) {
    SDP_ASSIGN_OR_RETURN(format, DetectFormat(path, *file));
  }
  TokenLayout layout;
  if (format == DataFormat::kMegatron) {
    SDP_ASSIGN_OR_RETURN(MegatronShard pair, OpenMegatronShard(path));
    file = std::move(pair.tokens);
    layout = pair.layout;
  } else if (format == DataFormat::kLlmc) {
    SDP_ASSIGN_OR_RETURN(layout, ReadLlmcLayout(*file));
  } else {
    SDP_ASSIGN_OR_RETURN(layout, ReadNanogptLayout(*file));
  }
  TokenShard shard(std::move(file), layout, vocab);
  std::vector<int64_t> block(kBlockTokens);
  SDP_RETURN_IF_ERROR(VisitBlocks(layout.tokens, kBlockTokens, [&](int64_t begin, int64_t size) {
    return shard.Read(begin, {block.data(), static_cast<size_t>(size)});
  }));
  SDP_ASSIGN_OR_RETURN(shard.fingerprint_, Fingerprint(path, *shard.file_, layout));
  return shard;
}

}  // namespace sdp
