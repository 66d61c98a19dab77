#include "worker/training/sample_reader.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

namespace sdp {
namespace {

// Sequence i is 10 i, 10 i + 1, ...; sequence 3 is damaged.
class CountingDataset : public TokenDataset {
 public:
  int64_t sequences() const override { return 5; }
  absl::Status Read(int64_t index, absl::Span<int64_t> tokens) const override {
    if (index == 3) return absl::InvalidArgumentError("shard.bin: token 31 is 70000");
    for (size_t i = 0; i < tokens.size(); ++i) tokens[i] = 10 * index + static_cast<int64_t>(i);
    return absl::OkStatus();
  }
  const std::vector<ShardFingerprint>& fingerprints() const override { return fingerprints_; }

 private:
  std::vector<ShardFingerprint> fingerprints_;
};

std::vector<int64_t> Copy(absl::Span<const int64_t> tokens) { return {tokens.begin(), tokens.end()}; }

TEST(SampleReaderTest, TargetsAreTheNextTokens) {
  SampleReader reader(std::make_shared<CountingDataset>(), 3);
  ASSERT_TRUE(reader.Read({4, 0, 1}).ok());
  const TokenRows rows = reader.rows();
  EXPECT_EQ(rows.rows, 3);
  EXPECT_EQ(rows.tokens, 3);
  EXPECT_EQ(Copy(rows.inputs), (std::vector<int64_t>{40, 41, 42, 0, 1, 2, 10, 11, 12}));
  EXPECT_EQ(Copy(rows.targets), (std::vector<int64_t>{41, 42, 43, 1, 2, 3, 11, 12, 13}));
  const TokenRows part = rows.Part(1, 2);
  EXPECT_EQ(part.rows, 2);
  EXPECT_EQ(Copy(part.inputs), (std::vector<int64_t>{0, 1, 2, 10, 11, 12}));
  EXPECT_EQ(Copy(rows.Part(2, 1).targets), (std::vector<int64_t>{11, 12, 13}));
  ASSERT_TRUE(reader.Read({}).ok());
  EXPECT_EQ(reader.rows().rows, 0);
}

TEST(SampleReaderTest, PassesTheFilesErrorOn) {
  SampleReader reader(std::make_shared<CountingDataset>(), 3);
  EXPECT_EQ(reader.Read({0, 3}).message(), "shard.bin: token 31 is 70000");
}

TEST(EvenlySpacedTest, SpreadsOverAll) {
  EXPECT_EQ(EvenlySpaced(10, 3), (std::vector<int64_t>{0, 3, 6}));
  EXPECT_EQ(EvenlySpaced(4, 0), (std::vector<int64_t>{0, 1, 2, 3}));
  EXPECT_EQ(EvenlySpaced(2, 9), (std::vector<int64_t>{0, 1}));
  EXPECT_EQ(EvenlySpaced(0, 0), std::vector<int64_t>());
}

}  // namespace
}  // namespace sdp
