// The shards of llm.c: a header of 256 int32 (magic, version, number of tokens), then the tokens.
#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "common/base/random_access_file.h"
#include "common/data/token_layout.h"
#include "common/data/token_shard_writer.h"

namespace sdp {

// Whether the file begins with one of llm.c's magic numbers.
absl::StatusOr<bool> HasLlmcMagic(const RandomAccessFile& file);

// INVALID_ARGUMENT: no llm.c shard, of unknown version, truncated, or of another length than it says.
absl::StatusOr<TokenLayout> ReadLlmcLayout(const RandomAccessFile& file);

absl::StatusOr<std::unique_ptr<TokenShardWriter>> CreateLlmcWriter(const std::string& path, int vocab);

}  // namespace sdp
