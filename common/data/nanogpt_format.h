// The shards of nanoGPT: 16-bit tokens and nothing else.
#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "common/base/random_access_file.h"
#include "common/data/token_layout.h"
#include "common/data/token_shard_writer.h"

namespace sdp {

// INVALID_ARGUMENT: empty, an odd number of bytes, or a whole shard of llm.c.
absl::StatusOr<TokenLayout> ReadNanogptLayout(const RandomAccessFile& file);

absl::StatusOr<std::unique_ptr<TokenShardWriter>> CreateNanogptWriter(const std::string& path, int vocab);

}  // namespace sdp
