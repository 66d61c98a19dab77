// Where the tokens lie in a shard, and how they are coded. The formats differ in nothing else once opened.
#pragma once

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "common/base/random_access_file.h"

namespace sdp {

// Little-endian unsigned integers, one after another.
struct TokenLayout {
  int64_t first_byte = 0;
  int64_t tokens = 0;
  int token_bytes = 0;  // 2 or 4
};

// Reads tokens [first, first + tokens.size()) of the shard. DATA_LOSS: the file is shorter by now;
// INVALID_ARGUMENT: a token is not below `vocab`; names the file and the token's position.
absl::Status ReadTokens(const RandomAccessFile& file, const TokenLayout& layout, int vocab, int64_t first,
                        absl::Span<int64_t> tokens);

// INVALID_ARGUMENT with the file's name: "PATH: MESSAGE".
absl::Status ShardError(const RandomAccessFile& file, const std::string& message);

// INVALID_ARGUMENT: the file is truncated, or longer than its layout says.
absl::Status CheckShardSize(const RandomAccessFile& file, const TokenLayout& layout);

}  // namespace sdp
