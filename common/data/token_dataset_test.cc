#include "common/data/token_dataset.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <numeric>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "common/data/shard_reference.h"
#include "common/testing/temporary_folder.h"

namespace sdp {
namespace {

using Tokens = std::vector<int32_t>;

// `count` tokens from `first` on, each one more than the one before.
Tokens Ramp(int count, int first = 0) {
  Tokens tokens(count);
  std::iota(tokens.begin(), tokens.end(), first);
  return tokens;
}

std::unique_ptr<TokenDataset> MustOpen(const std::vector<std::string>& paths, int vocab, int seq_len,
                                       DataFormat format = DataFormat::kDetect) {
  auto dataset = TokenDataset::Open(paths, format, vocab, seq_len);
  EXPECT_TRUE(dataset.ok()) << dataset.status();
  return dataset.ok() ? std::move(dataset).value() : nullptr;
}

std::vector<Tokens> AllSequences(const TokenDataset& dataset, int seq_len) {
  std::vector<Tokens> sequences;
  for (int64_t i = 0; i < dataset.sequences(); ++i) {
    std::vector<int64_t> tokens(seq_len + 1);
    const absl::Status status = dataset.Read(i, absl::MakeSpan(tokens));
    EXPECT_TRUE(status.ok()) << status;
    sequences.emplace_back(tokens.begin(), tokens.end());
  }
  return sequences;
}

// Opening `path` fails with `code`, and the message names the path and has all of `parts`.
void ExpectOpenFails(const std::string& path, absl::StatusCode code, const std::vector<std::string>& parts,
                     DataFormat format = DataFormat::kDetect, int vocab = 1000, int seq_len = 4) {
  const absl::Status status = TokenDataset::Open({path}, format, vocab, seq_len).status();
  EXPECT_EQ(status.code(), code) << status;
  EXPECT_TRUE(absl::StrContains(status.message(), path.substr(0, path.rfind('.')))) << status;
  for (const std::string& part : parts)
    EXPECT_TRUE(absl::StrContains(status.message(), part)) << status << part;
}

class TokenDatasetTest : public testing::Test {
 protected:
  std::string File(const std::string& name, const std::string& bytes) {
    WriteTestFile(folder_ / name, bytes);
    return folder_ / name;
  }

  const TemporaryFolder folder_;
};

TEST_F(TokenDatasetTest, NeighbouringSequencesShareOneToken) {
  const auto dataset = MustOpen({File("a.bin", Gpt2Bytes(Ramp(13)))}, 100, 4);
  EXPECT_EQ(AllSequences(*dataset, 4), (std::vector<Tokens>{Ramp(5, 0), Ramp(5, 4), Ramp(5, 8)}));
}

TEST_F(TokenDatasetTest, TheLastSequenceNeedsItsTarget) {
  // 12 tokens: the third sequence lacks the token after its last.
  const auto dataset = MustOpen({File("a.bin", Gpt2Bytes(Ramp(12)))}, 100, 4);
  EXPECT_EQ(dataset->sequences(), 2);
}

TEST_F(TokenDatasetTest, NoSequenceCrossesAShardAndShortShardsAreSkipped) {
  const auto dataset = MustOpen({File("a.bin", Gpt2Bytes(Ramp(7))), File("b.bin", Gpt2Bytes(Ramp(4, 20))),
                                 File("c.bin", Llama3Bytes(Ramp(10, 40)))},
                                100, 4);
  EXPECT_EQ(AllSequences(*dataset, 4), (std::vector<Tokens>{Ramp(5), Ramp(5, 40), Ramp(5, 44)}));
}

TEST_F(TokenDatasetTest, FormatsAreDetectedByContent) {
  const Tokens tokens = Ramp(20, 300);
  const std::vector<std::string> paths = {
      File("gpt2.any", Gpt2Bytes(tokens)),
      File("llama3.any", Llama3Bytes(tokens)),
      File("nanogpt.bin", TokenBytes(tokens, 2)),
      File("mega.bin", TokenBytes(tokens, 4)),
      File("mega.idx", MegatronIndexBytes({8, 12}, 4)),
      File("small.idx", MegatronIndexBytes({20}, 2)),
      File("small.bin", TokenBytes(tokens, 2)),
  };
  const auto dataset = MustOpen(paths, 400, 19);
  EXPECT_EQ(AllSequences(*dataset, 19), std::vector<Tokens>(paths.size(), tokens));
}

TEST_F(TokenDatasetTest, MegatronSequencesCrossDocuments) {
  File("m.bin", TokenBytes(Ramp(9), 2));
  const auto dataset = MustOpen({File("m.idx", MegatronIndexBytes({3, 2, 4}, 2))}, 100, 4);
  EXPECT_EQ(AllSequences(*dataset, 4), (std::vector<Tokens>{Ramp(5, 0), Ramp(5, 4)}));
}

TEST_F(TokenDatasetTest, LargeTokensSurvive) {
  const Tokens tokens = {0, 65535, 65536, 131071, 1};
  const auto dataset = MustOpen({File("a.bin", Llama3Bytes(tokens))}, 131072, 4);
  EXPECT_EQ(AllSequences(*dataset, 4), std::vector<Tokens>{tokens});
  const auto nanogpt = MustOpen({File("b.bin", TokenBytes({0, 65535, 50256, 1, 2}, 2))}, 65536, 4);
  EXPECT_EQ(AllSequences(*nanogpt, 4), (std::vector<Tokens>{{0, 65535, 50256, 1, 2}}));
}

TEST_F(TokenDatasetTest, MissingForbiddenAndStrangeFiles) {
  ExpectOpenFails(folder_ / "missing.bin", absl::StatusCode::kNotFound, {"No such file"});
  ExpectOpenFails(folder_.path(), absl::StatusCode::kInvalidArgument, {"folder"});
  ExpectOpenFails(File("empty.bin", ""), absl::StatusCode::kInvalidArgument, {"empty"});
  EXPECT_EQ(TokenDataset::Open({}, DataFormat::kDetect, 10, 4).status().code(),
            absl::StatusCode::kInvalidArgument);

  const std::string secret = File("secret.bin", Gpt2Bytes(Ramp(20)));
  std::filesystem::permissions(secret, std::filesystem::perms::none);
  const WithoutRoot without_root;
  ExpectOpenFails(secret, absl::StatusCode::kPermissionDenied, {"Permission denied"});
}

TEST_F(TokenDatasetTest, DamagedLlmcShards) {
  const Tokens tokens = Ramp(100);
  const auto invalid = absl::StatusCode::kInvalidArgument;
  // Truncation says what is there and what should be.
  const std::string whole = Gpt2Bytes(tokens);
  ExpectOpenFails(File("a.bin", whole.substr(0, 1200)), invalid, {"truncated", "1224 bytes", "has 1200"});
  ExpectOpenFails(File("b.bin", whole.substr(0, 500)), invalid, {"truncated", "1024", "500"});
  ExpectOpenFails(File("c.bin", LlmcBytes(20240520, 1, 99, tokens, 2)), invalid,
                  {"longer", "99 tokens", "1224"});
  ExpectOpenFails(File("d.bin", LlmcBytes(20240520, 2, 100, tokens, 2)), invalid,
                  {"version 2", "known is 1"});
  ExpectOpenFails(File("e.bin", LlmcBytes(20240801, 1, 100, tokens, 4)), invalid,
                  {"version 1", "known is 7"});
  ExpectOpenFails(File("f.bin", LlmcBytes(20240520, 1, 0, tokens, 2)), invalid, {"0 tokens"});
  ExpectOpenFails(File("g.bin", LlmcBytes(20240520, 1, -5, tokens, 2)), invalid, {"-5 tokens"});
  // 32-bit tokens behind the header of 16-bit ones.
  ExpectOpenFails(File("h.bin", LlmcBytes(20240520, 1, 100, tokens, 4)), invalid, {"longer"});
  ExpectOpenFails(File("i.bin", LlmcBytes(123456, 1, 100, tokens, 2)), invalid,
                  {"begins with 123456", "20240520", "20240801"}, DataFormat::kLlmc);
}

TEST_F(TokenDatasetTest, DamagedNanogptShards) {
  const auto invalid = absl::StatusCode::kInvalidArgument;
  ExpectOpenFails(File("a.bin", TokenBytes(Ramp(50), 2) + "x"), invalid, {"101 bytes", "odd"});
  ExpectOpenFails(File("b.bin", Gpt2Bytes(Ramp(50))), invalid, {"llm.c", "llmc"}, DataFormat::kNanogpt);
}

TEST_F(TokenDatasetTest, DamagedMegatronPairs) {
  const auto invalid = absl::StatusCode::kInvalidArgument;
  const std::string index = MegatronIndexBytes({10, 20}, 2);
  const auto expect = [&](const std::string& index_bytes, const std::string& tokens,
                          const std::vector<std::string>& parts) {
    File("m.bin", tokens);
    File("m.idx", index_bytes);
    ExpectOpenFails(folder_ / "m.idx", invalid, parts, DataFormat::kMegatron);
    ExpectOpenFails(folder_ / "m.bin", invalid, parts, DataFormat::kMegatron);
  };
  const std::string tokens = TokenBytes(Ramp(30), 2);
  const auto changed = [&](size_t at, char value) {
    std::string bytes = index;
    bytes[at] = value;
    return bytes;
  };
  expect(changed(0, 'X'), tokens, {"MMIDIDX"});
  expect(changed(9, 2), tokens, {"version 2", "known is 1"});
  expect(changed(17, 7), tokens, {"code 7", "int32", "uint16"});
  expect(changed(18, 3), tokens, {"3 sequences", "damaged"});
  expect(changed(25, '\xff'), tokens, {"sequences", "damaged"});  // the count's highest byte
  expect(changed(33, '\xff'), tokens, {"bounds", "damaged"});
  expect(changed(34, 11), tokens, {"sequence 1 begins at byte 20", "22"});
  expect(changed(37, '\xff'), tokens, {"sequence 0", "length -"});
  expect(changed(42, 4), tokens, {"sequence 0 begins at byte 4"});
  expect(changed(58, 1), tokens, {"bound 0 is 1"});
  expect(changed(66, 9), tokens, {"bound 2 is 2"});  // below the one before
  expect(changed(74, 1), tokens, {"bound 2 is 1"});  // not all sequences
  expect(index.substr(0, index.size() - 1), tokens, {"81"});
  expect(index.substr(0, 20), tokens, {"truncated", "20"});
  expect(index + "x", tokens, {"has 83"});
  expect(index, tokens.substr(0, 50), {"truncated", "expected 60", "has 50"});
  expect(index, tokens + "xx", {"longer", "expected 60", "has 62"});
}

TEST_F(TokenDatasetTest, MegatronPairsNeedBothFiles) {
  ExpectOpenFails(File("m.bin", TokenBytes(Ramp(30), 2)), absl::StatusCode::kNotFound, {"m.idx"},
                  DataFormat::kMegatron);
  ExpectOpenFails(File("n.idx", MegatronIndexBytes({30}, 2)), absl::StatusCode::kNotFound, {"n.bin"});
  ExpectOpenFails(File("o.dat", TokenBytes(Ramp(30), 2)), absl::StatusCode::kInvalidArgument,
                  {".bin and .idx"}, DataFormat::kMegatron);
}

TEST_F(TokenDatasetTest, TokensOutsideTheVocabulary) {
  ExpectOpenFails(File("a.bin", Gpt2Bytes({1, 2, 3, 999, 4, 5})), absl::StatusCode::kInvalidArgument,
                  {"token 999 at position 3", "vocabulary of 900"}, DataFormat::kDetect, 900);
  EXPECT_TRUE(TokenDataset::Open({folder_ / "a.bin"}, DataFormat::kDetect, 1000, 4).ok());
}

TEST_F(TokenDatasetTest, TokensThatNoSampleMetAreCheckedWhenRead) {
  constexpr int kTokens = 1 << 20;
  Tokens tokens(kTokens, 1);
  constexpr int kBad = 5000;  // between the first samples of a large shard
  tokens[kBad] = 7;
  constexpr int kSeqLen = 16;
  const auto dataset = MustOpen({File("a.bin", Gpt2Bytes(tokens))}, 7, kSeqLen);
  std::vector<int64_t> sequence(kSeqLen + 1);
  EXPECT_TRUE(dataset->Read(0, absl::MakeSpan(sequence)).ok());
  const absl::Status status = dataset->Read(kBad / kSeqLen, absl::MakeSpan(sequence));
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_TRUE(absl::StrContains(status.message(), "a.bin: token 7 at position 5000")) << status;
}

TEST_F(TokenDatasetTest, BothEndsOfALargeShardAreSampled) {
  constexpr int kTokens = 1 << 20;
  for (const int bad : {0, kTokens - 1}) {
    Tokens tokens(kTokens, 1);
    tokens[bad] = 7;
    ExpectOpenFails(File("a.bin", Gpt2Bytes(tokens)), absl::StatusCode::kInvalidArgument, {"token 7"},
                    DataFormat::kDetect, 7);
  }
}

TEST_F(TokenDatasetTest, ShardsWithoutAWholeSequence) {
  const std::string path = File("a.bin", Gpt2Bytes(Ramp(4)));
  ExpectOpenFails(path, absl::StatusCode::kFailedPrecondition, {"needs 5 tokens", "has 4"});
  const std::string other = File("b.bin", Gpt2Bytes(Ramp(3)));
  const absl::Status status = TokenDataset::Open({path, other}, DataFormat::kDetect, 1000, 4).status();
  EXPECT_TRUE(absl::StrContains(status.message(), "a.bin") && absl::StrContains(status.message(), "b.bin"))
      << status;
  WriteTestFile(path, Gpt2Bytes(Ramp(5)));
  EXPECT_EQ(MustOpen({path, other}, 1000, 4)->sequences(), 1);
}

TEST_F(TokenDatasetTest, AShardTruncatedInUseIsAnErrorNotACrash) {
  const std::string path = File("a.bin", Gpt2Bytes(Tokens(100000, 1)));
  const auto dataset = MustOpen({path}, 10, 100);
  std::filesystem::resize_file(path, 5000);
  std::vector<int64_t> sequence(101);
  EXPECT_TRUE(dataset->Read(0, absl::MakeSpan(sequence)).ok());
  const absl::Status status = dataset->Read(dataset->sequences() - 1, absl::MakeSpan(sequence));
  EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss) << status;
  EXPECT_TRUE(absl::StrContains(status.message(), path)) << status;
}

TEST_F(TokenDatasetTest, FingerprintsTellFilesApart) {
  const auto hash_of = [&](const std::string& name, const std::string& bytes) {
    return MustOpen({File(name, bytes)}, 1000, 4)->fingerprints().at(0).sampled_hash;
  };
  const std::string bytes = Gpt2Bytes(Ramp(500));
  const std::string hash = hash_of("a.bin", bytes);
  EXPECT_EQ(hash.size(), 16u);
  EXPECT_EQ(hash.find_first_not_of("0123456789abcdef"), std::string::npos);
  EXPECT_EQ(hash_of("b.bin", bytes), hash);
  for (const size_t at : {size_t{100}, size_t{1024}, bytes.size() - 2}) {
    std::string changed = bytes;
    changed[at] ^= 1;
    EXPECT_NE(hash_of("b.bin", changed), hash) << at;
  }
  EXPECT_NE(hash_of("b.bin", Gpt2Bytes(Ramp(499))), hash);

  const auto dataset = MustOpen({folder_ / "a.bin", folder_ / "b.bin"}, 1000, 4);
  ASSERT_EQ(dataset->fingerprints().size(), 2u);
  EXPECT_EQ(dataset->fingerprints()[0].path, folder_ / "a.bin");
  EXPECT_EQ(dataset->fingerprints()[0].bytes, static_cast<int64_t>(bytes.size()));
}

TEST_F(TokenDatasetTest, FingerprintsOfLargeFilesCoverBothEnds) {
  Tokens tokens(1 << 20, 1);
  const std::string path = File("a.bin", Gpt2Bytes(tokens));
  const std::string hash = MustOpen({path}, 10, 4)->fingerprints()[0].sampled_hash;
  tokens.back() = 2;
  EXPECT_NE(MustOpen({File("a.bin", Gpt2Bytes(tokens))}, 10, 4)->fingerprints()[0].sampled_hash, hash);
}

}  // namespace
}  // namespace sdp
