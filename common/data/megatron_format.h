// Megatron's indexed data sets: tokens in NAME.bin, documents in NAME.idx beside it.
//
// NAME.idx: "MMIDIDX\0\0", uint64 version, uint8 code of the token type, uint64 number of sequences, uint64
// number of document bounds; then for each sequence its int32 length, for each its int64 offset in bytes, and
// the int64 document bounds.
#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "common/base/random_access_file.h"
#include "common/data/token_layout.h"
#include "common/data/token_shard_writer.h"

namespace sdp {

// The token file of a pair and its layout.
struct MegatronShard {
  std::unique_ptr<RandomAccessFile> tokens;
  TokenLayout layout;
};

// Whether the file begins with the magic bytes of a Megatron index.
absl::StatusOr<bool> HasMegatronMagic(const RandomAccessFile& file);

// The other path of the pair: "a.idx" for "a.bin" and the reverse; empty for another ending.
std::string MegatronSibling(const std::string& path);

// Opens the pair by either path. INVALID_ARGUMENT: another ending, not a Megatron index, unknown version or
// token type, truncated, or an index that does not fit the token file. NOT_FOUND: one of the pair is missing.
// The index is read once, in pieces; it is not kept.
absl::StatusOr<MegatronShard> OpenMegatronShard(const std::string& path);

absl::StatusOr<std::unique_ptr<TokenShardWriter>> CreateMegatronWriter(const std::string& path, int vocab);

}  // namespace sdp
