#include "common/data/llmc_format.h"

#include <array>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "common/data/token_stream.h"

namespace sdp {
namespace {

using Header = std::array<int32_t, 256>;

struct Variant {
  const char* name;
  int32_t magic;
  int32_t version;
  int token_bytes;
};
constexpr Variant kGpt2{"GPT-2", 20240520, 1, 2};
constexpr Variant kLlama3{"Llama-3", 20240801, 7, 4};

// The variant with this magic number; null: none.
const Variant* VariantOf(int32_t magic) {
  for (const Variant* variant : {&kGpt2, &kLlama3}) {
    if (variant->magic == magic) return variant;
  }
  return nullptr;
}

absl::string_view BytesOf(const Header& header) {
  return {reinterpret_cast<const char*>(header.data()), sizeof(header)};
}

class LlmcWriter : public TokenShardWriter {
 public:
  LlmcWriter(TokenStream stream, Variant variant) : stream_(std::move(stream)), variant_(variant) {}

  absl::Status Append(absl::Span<const int32_t> tokens) override {
    constexpr int64_t kMost = std::numeric_limits<int32_t>::max();
    if (stream_.tokens() + static_cast<int64_t>(tokens.size()) > kMost) {
      return absl::OutOfRangeError(absl::StrCat("cannot write ", stream_.file().path(),
                                                ": an llm.c shard has at most ", kMost,
                                                " tokens; write several shards"));
    }
    return stream_.Append(tokens);
  }

  absl::Status EndDocument() override { return absl::OkStatus(); }

  absl::Status Finish() override {
    const Header header{variant_.magic, variant_.version, static_cast<int32_t>(stream_.tokens())};
    SDP_RETURN_IF_ERROR(stream_.file().Overwrite(0, BytesOf(header)));
    return stream_.Commit();
  }

 private:
  TokenStream stream_;
  const Variant variant_;
};

}  // namespace

absl::StatusOr<bool> HasLlmcMagic(const RandomAccessFile& file) {
  int32_t magic = 0;
  if (file.size() < static_cast<int64_t>(sizeof(magic))) return false;
  SDP_RETURN_IF_ERROR(file.Read(0, {reinterpret_cast<char*>(&magic), sizeof(magic)}));
  return VariantOf(magic) != nullptr;
}

absl::StatusOr<TokenLayout> ReadLlmcLayout(const RandomAccessFile& file) {
  Header header{};
  if (file.size() < static_cast<int64_t>(sizeof(header))) {
    return ShardError(file, absl::StrCat("truncated: the header of an llm.c shard has ", sizeof(header),
                                         " bytes, the file has ", file.size()));
  }
  SDP_RETURN_IF_ERROR(file.Read(0, {reinterpret_cast<char*>(header.data()), sizeof(header)}));
  const auto [magic, version, tokens] = std::make_tuple(header[0], header[1], header[2]);
  const Variant* variant = VariantOf(magic);
  if (variant == nullptr) {
    return ShardError(
        file, absl::StrCat("not an llm.c shard: it begins with ", magic, ", not with ", kGpt2.magic, " (",
                           kGpt2.name, ") or ", kLlama3.magic, " (", kLlama3.name, ")"));
  }
  if (version != variant->version) {
    return ShardError(file, absl::StrCat("unknown version ", version, " of llm.c's ", variant->name,
                                         " layout; known is ", variant->version));
  }
  if (tokens < 1) {
    return ShardError(file, absl::StrCat("the header says ", tokens, " tokens; it must be 1 or more"));
  }
  const TokenLayout layout{sizeof(header), tokens, variant->token_bytes};
  SDP_RETURN_IF_ERROR(CheckShardSize(file, layout));
  return layout;
}

absl::StatusOr<std::unique_ptr<TokenShardWriter>> CreateLlmcWriter(const std::string& path, int vocab) {
  const Variant variant = vocab <= 65536 ? kGpt2 : kLlama3;
  SDP_ASSIGN_OR_RETURN(TokenStream stream, TokenStream::Create(path, vocab, variant.token_bytes));
  SDP_RETURN_IF_ERROR(stream.file().Append(BytesOf(Header{})));
  return std::make_unique<LlmcWriter>(std::move(stream), variant);
}

}  // namespace sdp
