#include "common/data/megatron_format.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "common/base/status_macros.h"
#include "common/data/token_stream.h"

namespace sdp {
namespace {

constexpr absl::string_view kIndexEnding = ".idx";
constexpr absl::string_view kTokensEnding = ".bin";
constexpr uint64_t kVersion = 1;
constexpr uint8_t kInt32Code = 4;
constexpr uint8_t kUint16Code = 8;

struct __attribute__((packed)) IndexHeader {
  char magic[9];
  uint64_t version;
  uint8_t type_code;
  uint64_t sequences;
  uint64_t bounds;  // of documents: the first is 0, the last the number of sequences
};
constexpr char kMagic[] = "MMIDIDX\0";  // with the literal's own end: 9 bytes
static_assert(sizeof(kMagic) == sizeof(IndexHeader::magic));
constexpr int64_t kBytesPerSequence = sizeof(int32_t) + sizeof(int64_t);

template <typename T>
absl::string_view BytesOf(const T& value) {
  return {reinterpret_cast<const char*>(&value), sizeof(value)};
}

// Elements of an index's array that are read at a time.
constexpr int64_t kPiece = 8192;

// The `count` values that lie at `offset`.
template <typename T>
absl::StatusOr<std::vector<T>> ReadArray(const RandomAccessFile& file, int64_t offset, int64_t count) {
  std::vector<T> values(count);
  SDP_RETURN_IF_ERROR(file.Read(offset, {reinterpret_cast<char*>(values.data()), count * sizeof(T)}));
  return values;
}

absl::StatusOr<IndexHeader> ReadHeader(const RandomAccessFile& index) {
  IndexHeader header{};
  if (index.size() < static_cast<int64_t>(sizeof(header))) {
    return ShardError(index, absl::StrCat("truncated: the header of a Megatron index has ", sizeof(header),
                                          " bytes, the file has ", index.size()));
  }
  SDP_RETURN_IF_ERROR(index.Read(0, {reinterpret_cast<char*>(&header), sizeof(header)}));
  if (std::memcmp(header.magic, kMagic, sizeof(kMagic)) != 0) {
    return ShardError(index, "not a Megatron index: it does not begin with MMIDIDX");
  }
  if (header.version != kVersion) {
    return ShardError(index, absl::StrCat("unknown version ", uint64_t{header.version},
                                          " of Megatron's index; known is ", kVersion));
  }
  if (header.type_code != kInt32Code && header.type_code != kUint16Code) {
    return ShardError(index, absl::StrCat("token type code ", int{header.type_code}, "; supported are ",
                                          int{kInt32Code}, " (int32) and ", int{kUint16Code}, " (uint16)"));
  }
  const uint64_t sequences = header.sequences;
  const uint64_t bounds = header.bounds;
  const uint64_t size = index.size();
  // Counts that alone exceed the file could overflow the sum below.
  if (sequences > size / kBytesPerSequence || bounds > size / sizeof(int64_t) ||
      sizeof(header) + sequences * kBytesPerSequence + bounds * sizeof(int64_t) != size) {
    return ShardError(index,
                      absl::StrCat("truncated or damaged: ", sequences, " sequences and ", bounds,
                                   " document bounds need ", sizeof(header), " + ", sequences, " x ",
                                   kBytesPerSequence, " + ", bounds, " x 8 bytes, the file has ", size));
  }
  return header;
}

// Number of tokens. Checks that the sequences follow each other without holes.
absl::StatusOr<int64_t> CountTokens(const RandomAccessFile& index, const IndexHeader& header,
                                    int token_bytes) {
  const int64_t sequences = header.sequences;
  const int64_t lengths_at = sizeof(header);
  const int64_t offsets_at = lengths_at + sequences * static_cast<int64_t>(sizeof(int32_t));
  int64_t tokens = 0;
  for (int64_t first = 0; first < sequences; first += kPiece) {
    const int64_t count = std::min(kPiece, sequences - first);
    SDP_ASSIGN_OR_RETURN(const std::vector<int32_t> lengths,
                         ReadArray<int32_t>(index, lengths_at + first * sizeof(int32_t), count));
    SDP_ASSIGN_OR_RETURN(const std::vector<int64_t> offsets,
                         ReadArray<int64_t>(index, offsets_at + first * sizeof(int64_t), count));
    for (int64_t i = 0; i < count; ++i) {
      if (lengths[i] < 0) {
        return ShardError(index, absl::StrCat("sequence ", first + i, " has length ", lengths[i]));
      }
      if (offsets[i] != tokens * token_bytes) {
        return ShardError(index, absl::StrCat("sequence ", first + i, " begins at byte ", offsets[i],
                                              "; those before it end at ", tokens * token_bytes));
      }
      tokens += lengths[i];
    }
  }
  return tokens;
}

// Checks that documents are ascending ranges of all sequences.
absl::Status CheckDocuments(const RandomAccessFile& index, const IndexHeader& header) {
  const int64_t sequences = header.sequences;
  const int64_t bounds = header.bounds;
  const int64_t bounds_at = sizeof(header) + sequences * kBytesPerSequence;
  int64_t before = 0;
  for (int64_t first = 0; first < bounds; first += kPiece) {
    SDP_ASSIGN_OR_RETURN(
        const std::vector<int64_t> piece,
        ReadArray<int64_t>(index, bounds_at + first * sizeof(int64_t), std::min(kPiece, bounds - first)));
    for (size_t i = 0; i < piece.size(); ++i) {
      const int64_t number = first + i;
      if (piece[i] < before || (number == 0 && piece[i] != 0) ||
          (number == bounds - 1 && piece[i] != sequences)) {
        return ShardError(index, absl::StrCat("document bound ", number, " is ", piece[i],
                                              "; bounds ascend from 0 to the ", sequences, " sequences"));
      }
      before = piece[i];
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<std::string> PairedPath(const std::string& path) {
  std::string sibling = MegatronSibling(path);
  if (!sibling.empty()) return sibling;
  return absl::InvalidArgumentError(
      absl::StrCat(path, ": the files of a Megatron pair end in .bin and .idx; name one of them"));
}

class MegatronWriter : public TokenShardWriter {
 public:
  MegatronWriter(TokenStream stream, std::unique_ptr<AtomicFileWriter> index, int token_bytes)
      : stream_(std::move(stream)), index_(std::move(index)), token_bytes_(token_bytes) {}

  absl::Status Append(absl::Span<const int32_t> tokens) override {
    constexpr int64_t kMost = std::numeric_limits<int32_t>::max();
    if (stream_.tokens() - document_begin_ + static_cast<int64_t>(tokens.size()) > kMost) {
      return absl::OutOfRangeError(absl::StrCat("cannot write ", stream_.file().path(),
                                                ": a document of a Megatron shard has at most ", kMost,
                                                " tokens"));
    }
    return stream_.Append(tokens);
  }

  absl::Status EndDocument() override {
    if (stream_.tokens() > document_begin_) {
      lengths_.push_back(static_cast<int32_t>(stream_.tokens() - document_begin_));
      document_begin_ = stream_.tokens();
    }
    return absl::OkStatus();
  }

  absl::Status Finish() override {
    SDP_RETURN_IF_ERROR(EndDocument());
    SDP_RETURN_IF_ERROR(AppendIndex());
    SDP_RETURN_IF_ERROR(stream_.Commit());
    return index_->Commit();
  }

 private:
  // One sequence for each document.
  absl::Status AppendIndex() {
    IndexHeader header{
        {}, kVersion, token_bytes_ == 2 ? kUint16Code : kInt32Code, lengths_.size(), lengths_.size() + 1};
    std::memcpy(header.magic, kMagic, sizeof(kMagic));
    SDP_RETURN_IF_ERROR(index_->Append(BytesOf(header)));
    for (const int32_t length : lengths_) SDP_RETURN_IF_ERROR(index_->Append(BytesOf(length)));
    int64_t offset = 0;
    for (const int32_t length : lengths_) {
      SDP_RETURN_IF_ERROR(index_->Append(BytesOf(offset)));
      offset += int64_t{length} * token_bytes_;
    }
    for (int64_t bound = 0; bound <= static_cast<int64_t>(lengths_.size()); ++bound) {
      SDP_RETURN_IF_ERROR(index_->Append(BytesOf(bound)));
    }
    return absl::OkStatus();
  }

  TokenStream stream_;
  const std::unique_ptr<AtomicFileWriter> index_;
  const int token_bytes_;
  std::vector<int32_t> lengths_;  // of the ended documents
  int64_t document_begin_ = 0;    // tokens before the open document
};

}  // namespace

absl::StatusOr<bool> HasMegatronMagic(const RandomAccessFile& file) {
  char magic[sizeof(kMagic)];
  if (file.size() < static_cast<int64_t>(sizeof(magic))) return false;
  SDP_RETURN_IF_ERROR(file.Read(0, magic));
  return std::memcmp(magic, kMagic, sizeof(kMagic)) == 0;
}

std::string MegatronSibling(const std::string& path) {
  absl::string_view stem = path;
  if (absl::ConsumeSuffix(&stem, kIndexEnding)) return absl::StrCat(stem, kTokensEnding);
  if (absl::ConsumeSuffix(&stem, kTokensEnding)) return absl::StrCat(stem, kIndexEnding);
  return "";
}

absl::StatusOr<MegatronShard> OpenMegatronShard(const std::string& path) {
  SDP_ASSIGN_OR_RETURN(const std::string sibling, PairedPath(path));
  const bool is_index = absl::EndsWith(path, kIndexEnding);
  SDP_ASSIGN_OR_RETURN(const auto index, RandomAccessFile::Open(is_index ? path : sibling));
  SDP_ASSIGN_OR_RETURN(const IndexHeader header, ReadHeader(*index));
  MegatronShard shard;
  SDP_ASSIGN_OR_RETURN(shard.tokens, RandomAccessFile::Open(is_index ? sibling : path));
  shard.layout.token_bytes = header.type_code == kUint16Code ? 2 : 4;
  SDP_ASSIGN_OR_RETURN(shard.layout.tokens, CountTokens(*index, header, shard.layout.token_bytes));
  SDP_RETURN_IF_ERROR(CheckDocuments(*index, header));
  SDP_RETURN_IF_ERROR(CheckShardSize(*shard.tokens, shard.layout));
  return shard;
}

absl::StatusOr<std::unique_ptr<TokenShardWriter>> CreateMegatronWriter(const std::string& path, int vocab) {
  SDP_ASSIGN_OR_RETURN(const std::string sibling, PairedPath(path));
  const bool is_index = absl::EndsWith(path, kIndexEnding);
  const int token_bytes = vocab < 65500 ? 2 : 4;
  SDP_ASSIGN_OR_RETURN(TokenStream stream,
                       TokenStream::Create(is_index ? sibling : path, vocab, token_bytes));
  SDP_ASSIGN_OR_RETURN(auto index, AtomicFileWriter::Create(is_index ? path : sibling));
  return std::make_unique<MegatronWriter>(std::move(stream), std::move(index), token_bytes);
}

}  // namespace sdp
