#include "common/data/token_layout.h"

#include <cstring>

#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"

namespace sdp {

static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "shards are little-endian and read as they are");

namespace {

template <typename Stored>
void Widen(const char* raw, absl::Span<int64_t> tokens) {
  for (size_t i = 0; i < tokens.size(); ++i) {
    Stored stored;
    std::memcpy(&stored, raw + i * sizeof(stored), sizeof(stored));
    tokens[i] = stored;
  }
}

}  // namespace

absl::Status ReadTokens(const RandomAccessFile& file, const TokenLayout& layout, int vocab, int64_t first,
                        absl::Span<int64_t> tokens) {
  // The stored tokens go to the end of the output and are widened in place from the front: token i ends at
  // byte 8 (i + 1), and what is stored after it begins there or later. No second buffer, no copy.
  const size_t raw_bytes = tokens.size() * layout.token_bytes;
  char* const raw = reinterpret_cast<char*>(tokens.data() + tokens.size()) - raw_bytes;
  SDP_RETURN_IF_ERROR(file.Read(layout.first_byte + first * layout.token_bytes, {raw, raw_bytes}));
  if (layout.token_bytes == 2) {
    Widen<uint16_t>(raw, tokens);
  } else {
    Widen<uint32_t>(raw, tokens);
  }
  for (size_t i = 0; i < tokens.size(); ++i) {
    if (tokens[i] >= vocab) {
      return ShardError(file, absl::StrCat("token ", tokens[i], " at position ", first + i,
                                           " is outside the vocabulary of ", vocab, " tokens"));
    }
  }
  return absl::OkStatus();
}

absl::Status ShardError(const RandomAccessFile& file, const std::string& message) {
  return absl::InvalidArgumentError(absl::StrCat(file.path(), ": ", message));
}

absl::Status CheckShardSize(const RandomAccessFile& file, const TokenLayout& layout) {
  const int64_t expected = layout.first_byte + layout.tokens * layout.token_bytes;
  if (file.size() == expected) return absl::OkStatus();
  return ShardError(file,
                    absl::StrCat(file.size() < expected ? "truncated" : "longer than it says", ": expected ",
                                 expected, " bytes (", layout.first_byte, " of header and ", layout.tokens,
                                 " tokens of ", layout.token_bytes, " bytes), the file has ", file.size()));
}

}  // namespace sdp
