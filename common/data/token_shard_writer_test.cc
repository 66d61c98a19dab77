#include "common/data/token_shard_writer.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/data/shard_reference.h"
#include "common/data/token_dataset.h"
#include "common/testing/temporary_folder.h"

namespace sdp {
namespace {

using Tokens = std::vector<int32_t>;

// Writes each document in pieces of `piece` tokens.
absl::Status WriteShard(const std::string& path, DataFormat format, int vocab,
                        const std::vector<Tokens>& documents, size_t piece = 3) {
  auto writer = TokenShardWriter::Create(path, format, vocab);
  if (!writer.ok()) return writer.status();
  for (const Tokens& document : documents) {
    for (size_t i = 0; i < document.size(); i += piece) {
      const auto tokens = absl::MakeConstSpan(document).subspan(i, piece);
      if (absl::Status status = (*writer)->Append(tokens); !status.ok()) return status;
    }
    if (absl::Status status = (*writer)->EndDocument(); !status.ok()) return status;
  }
  return (*writer)->Finish();
}

TEST(TokenShardWriterTest, FilesAreExactlyAsTheFormatsSay) {
  const TemporaryFolder folder;
  const std::vector<Tokens> documents = {{1, 2, 300}, {}, {4}, {5, 6}};
  const Tokens all = {1, 2, 300, 4, 5, 6};
  ASSERT_TRUE(WriteShard(folder / "gpt2", DataFormat::kLlmc, 65536, documents).ok());
  EXPECT_EQ(ReadTestFile(folder / "gpt2"), Gpt2Bytes(all));
  ASSERT_TRUE(WriteShard(folder / "llama3", DataFormat::kLlmc, 65537, documents).ok());
  EXPECT_EQ(ReadTestFile(folder / "llama3"), Llama3Bytes(all));
  ASSERT_TRUE(WriteShard(folder / "nanogpt", DataFormat::kNanogpt, 65536, documents).ok());
  EXPECT_EQ(ReadTestFile(folder / "nanogpt"), TokenBytes(all, 2));
  ASSERT_TRUE(WriteShard(folder / "small.bin", DataFormat::kMegatron, 65499, documents).ok());
  EXPECT_EQ(ReadTestFile(folder / "small.bin"), TokenBytes(all, 2));
  EXPECT_EQ(ReadTestFile(folder / "small.idx"), MegatronIndexBytes({3, 1, 2}, 2));
  ASSERT_TRUE(WriteShard(folder / "large.idx", DataFormat::kMegatron, 65500, documents).ok());
  EXPECT_EQ(ReadTestFile(folder / "large.bin"), TokenBytes(all, 4));
  EXPECT_EQ(ReadTestFile(folder / "large.idx"), MegatronIndexBytes({3, 1, 2}, 4));
  EXPECT_EQ(folder.Files().size(), 7u);
}

// Format, name and vocabulary of every layout that the writer has.
struct Layout {
  DataFormat format;
  std::string name;
  int vocab;
};
const std::vector<Layout>& Layouts() {
  static const auto& layouts = *new std::vector<Layout>{
      {DataFormat::kLlmc, "gpt2.bin", 500},          {DataFormat::kLlmc, "llama3.bin", 200000},
      {DataFormat::kNanogpt, "nanogpt.bin", 65536},  {DataFormat::kMegatron, "small.bin", 1000},
      {DataFormat::kMegatron, "large.idx", 1000000},
  };
  return layouts;
}

// What is written is what is read, sequence by sequence, with and without the format named.
TEST(TokenShardWriterTest, RoundTripOfAnyDocuments) {
  const TemporaryFolder folder;
  for (const Layout& layout : Layouts()) {
    EXPECT_TRUE(rc::check(layout.name, [&] {
      const auto token = rc::gen::inRange<int32_t>(0, layout.vocab);
      const auto documents = *rc::gen::container<std::vector<Tokens>>(rc::gen::container<Tokens>(token));
      Tokens all;
      for (const Tokens& document : documents) all.insert(all.end(), document.begin(), document.end());
      const int seq_len = *rc::gen::inRange(1, 6);
      const std::string path = folder / layout.name;
      const absl::Status written =
          WriteShard(path, layout.format, layout.vocab, documents, *rc::gen::inRange<size_t>(1, 9));
      if (all.empty()) {
        RC_ASSERT(written.code() == absl::StatusCode::kFailedPrecondition);
        return;
      }
      RC_ASSERT(written.ok());
      const DataFormat format = *rc::gen::element(layout.format, DataFormat::kDetect);
      const auto dataset = TokenDataset::Open({path}, format, layout.vocab, seq_len);
      const int64_t expected = (static_cast<int64_t>(all.size()) - 1) / seq_len;
      if (expected == 0) {
        RC_ASSERT(dataset.status().code() == absl::StatusCode::kFailedPrecondition);
        return;
      }
      RC_ASSERT(dataset.ok());
      RC_ASSERT((*dataset)->sequences() == expected);
      for (int64_t i = 0; i < expected; ++i) {
        std::vector<int64_t> sequence(seq_len + 1);
        RC_ASSERT((*dataset)->Read(i, absl::MakeSpan(sequence)).ok());
        const auto begin = all.begin() + i * seq_len;
        RC_ASSERT(std::equal(sequence.begin(), sequence.end(), begin));
      }
    })) << layout.name;
  }
}

// However a file is cut or changed, opening and reading give tokens of the vocabulary or an error.
TEST(TokenShardWriterTest, DamageNeverCrashesAReader) {
  const TemporaryFolder folder;
  for (const Layout& layout : Layouts()) {
    const std::string path = folder / layout.name;
    ASSERT_TRUE(WriteShard(path, layout.format, layout.vocab, {Tokens(50, 1), Tokens(70, 2)}, 1000).ok());
    const std::string damaged =
        layout.format == DataFormat::kMegatron ? path.substr(0, path.size() - 4) + ".idx" : path;
    const std::string whole = ReadTestFile(damaged);
    EXPECT_TRUE(rc::check(layout.name, [&] {
      std::string bytes = whole;
      const int changes = *rc::gen::inRange(0, 8);
      for (int i = 0; i < changes; ++i) {
        // Mostly in what describes the tokens.
        const size_t at = *rc::gen::inRange<size_t>(0, *rc::gen::element<size_t>(64, bytes.size()));
        bytes[at] = *rc::gen::arbitrary<char>();
      }
      if (*rc::gen::arbitrary<bool>()) bytes.resize(*rc::gen::inRange<size_t>(0, bytes.size()));
      WriteTestFile(damaged, bytes);
      const auto dataset =
          TokenDataset::Open({path}, *rc::gen::element(layout.format, DataFormat::kDetect), layout.vocab, 7);
      if (!dataset.ok()) {
        RC_ASSERT(absl::StrContains(dataset.status().message(), folder.path()));
        return;
      }
      std::vector<int64_t> sequence(8);
      for (int64_t i = 0; i < (*dataset)->sequences(); ++i) {
        if (!(*dataset)->Read(i, absl::MakeSpan(sequence)).ok()) continue;
        for (const int64_t token : sequence) RC_ASSERT(token >= 0 && token < layout.vocab);
      }
    })) << layout.name;
  }
}

TEST(TokenShardWriterTest, TokensOutsideTheVocabularyAreRefused) {
  const TemporaryFolder folder;
  for (const int32_t bad : {-1, 10, 70000}) {
    const absl::Status status = WriteShard(folder / "a.bin", DataFormat::kNanogpt, 10, {{1, 2}, {3, bad}});
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
    EXPECT_TRUE(absl::StrContains(status.message(), absl::StrCat("a.bin: token ", bad, " at position 3")))
        << status;
  }
  EXPECT_EQ(folder.Files(), std::vector<std::string>{});
}

TEST(TokenShardWriterTest, WhatCannotBeWrittenIsRefusedAtOnce) {
  const TemporaryFolder folder;
  const auto code = [&](const std::string& name, DataFormat format, int vocab) {
    return TokenShardWriter::Create(folder / name, format, vocab).status().code();
  };
  EXPECT_EQ(code("a.bin", DataFormat::kDetect, 256), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(code("a.bin", DataFormat::kNanogpt, 65537), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(code("a.bin", DataFormat::kLlmc, 0), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(code("a.dat", DataFormat::kMegatron, 256), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(code("missing/a.bin", DataFormat::kLlmc, 256), absl::StatusCode::kNotFound);
  EXPECT_EQ(folder.Files(), std::vector<std::string>{});

  std::filesystem::permissions(folder.path(),
                               std::filesystem::perms::owner_read | std::filesystem::perms::owner_exec);
  const WithoutRoot without_root;
  EXPECT_EQ(code("a.bin", DataFormat::kMegatron, 256), absl::StatusCode::kPermissionDenied);
}

TEST(TokenShardWriterTest, AnUnfinishedShardLeavesNothing) {
  const TemporaryFolder folder;
  ASSERT_TRUE(WriteShard(folder / "a.bin", DataFormat::kMegatron, 256, {{1, 2, 3}}).ok());
  const std::string before = ReadTestFile(folder / "a.bin");
  {
    const auto writer = TokenShardWriter::Create(folder / "a.bin", DataFormat::kMegatron, 256);
    ASSERT_TRUE(writer.ok());
    ASSERT_TRUE((*writer)->Append({9, 9, 9, 9}).ok());
  }
  EXPECT_EQ(ReadTestFile(folder / "a.bin"), before);
  EXPECT_EQ(folder.Files(), (std::vector<std::string>{"a.bin", "a.idx"}));
}

}  // namespace
}  // namespace sdp
