#include "worker/checkpoint/safetensors.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <cstring>
#include <filesystem>
#include <limits>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/testing/temporary_folder.h"

namespace sdp {
namespace {

// A file from its parts, by the format's description alone.
std::string FileBytes(const std::string& header, const std::vector<float>& data) {
  std::string bytes;
  for (int i = 0; i < 8; ++i) bytes.push_back(static_cast<char>(uint64_t{header.size()} >> 8 * i));
  bytes += header;
  bytes.append(reinterpret_cast<const char*>(data.data()), data.size() * sizeof(float));
  return bytes;
}

std::string HeaderOf(const std::string& bytes) {
  uint64_t length = 0;
  std::memcpy(&length, bytes.data(), sizeof(length));
  return bytes.substr(8, length);
}

absl::Status WriteAll(const std::string& path, const std::vector<StoredTensor>& tensors,
                      const std::vector<std::vector<float>>& data) {
  auto writer = SafetensorsWriter::Create(path, tensors);
  if (!writer.ok()) return writer.status();
  for (size_t i = 0; i < tensors.size(); ++i) {
    if (absl::Status status = (*writer)->Write(tensors[i].name, data[i]); !status.ok()) return status;
  }
  return (*writer)->Finish();
}

TEST(SafetensorsWriterTest, TheFileIsExactlyAsTheFormatSays) {
  const TemporaryFolder folder;
  const std::string path = folder / "a.safetensors";
  ASSERT_TRUE(WriteAll(path, {{"b", {2, 2}}, {"a", {1}}, {"scalar", {}}}, {{1, 2, 3, 4}, {5}, {6}}).ok());
  const std::string bytes = ReadTestFile(path);
  std::string header =
      R"({"__metadata__":{"format":"pt"},"b":{"dtype":"F32","shape":[2,2],"data_offsets":[0,16]},)"
      R"("a":{"dtype":"F32","shape":[1],"data_offsets":[16,20]},)"
      R"("scalar":{"dtype":"F32","shape":[],"data_offsets":[20,24]}})";
  header.resize((header.size() + 7) / 8 * 8, ' ');
  EXPECT_EQ(bytes, FileBytes(header, {1, 2, 3, 4, 5, 6}));
}

TEST(SafetensorsWriterTest, TensorsMayComeInPieces) {
  const TemporaryFolder folder;
  const std::string path = folder / "a.safetensors";
  const auto writer =
      SafetensorsWriter::Create(path, {{"empty", {0, 3}}, {"a", {3}}, {"none", {0}}, {"b", {1}}});
  ASSERT_TRUE(writer.ok()) << writer.status();
  EXPECT_TRUE((*writer)->Write("a", {1}).ok());
  EXPECT_TRUE((*writer)->Write("a", {}).ok());
  EXPECT_TRUE((*writer)->Write("a", {2, 3}).ok());
  EXPECT_TRUE((*writer)->Write("b", {4}).ok());
  EXPECT_FALSE(std::filesystem::exists(path));
  ASSERT_TRUE((*writer)->Finish().ok());
  const auto reader = SafetensorsReader::Open(path);
  ASSERT_TRUE(reader.ok()) << reader.status();
  std::vector<float> values(3);
  ASSERT_TRUE((*reader)->Read("a", absl::MakeSpan(values)).ok());
  EXPECT_EQ(values, (std::vector<float>{1, 2, 3}));
  EXPECT_EQ((*reader)->Find("empty")->shape, (std::vector<int64_t>{0, 3}));
}

TEST(SafetensorsWriterTest, MisuseNamesTheTensorAndLeavesNoFile) {
  const TemporaryFolder folder;
  const auto expect = [](const absl::Status& status, const std::vector<std::string>& parts) {
    EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition) << status;
    for (const std::string& part : parts) EXPECT_TRUE(absl::StrContains(status.message(), part)) << status;
  };
  {
    const auto writer = SafetensorsWriter::Create(folder / "m", {{"a", {2}}, {"b", {1}}});
    ASSERT_TRUE(writer.ok());
    expect((*writer)->Write("b", {1}), {"\"b\"", "turn of \"a\""});
    expect((*writer)->Write("a", {1, 2, 3}), {"\"a\" has 2 elements, not 3"});
    expect((*writer)->Finish(), {"\"a\" has only 0 of its 2"});
    EXPECT_TRUE((*writer)->Write("a", {1, 2}).ok());
    expect((*writer)->Write("a", {1}), {"turn of \"b\""});
    EXPECT_TRUE((*writer)->Write("b", {1}).ok());
    expect((*writer)->Write("b", {1}), {"\"b\"", "complete"});
  }
  EXPECT_EQ(folder.Files(), std::vector<std::string>{});
}

TEST(SafetensorsWriterTest, WhatCannotBeDeclaredIsRefused) {
  const TemporaryFolder folder;
  const auto message = [&](std::vector<StoredTensor> tensors) {
    const absl::Status status = SafetensorsWriter::Create(folder / "m", std::move(tensors)).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
    return std::string(status.message());
  };
  EXPECT_TRUE(absl::StrContains(message({{"a", {1}}, {"a", {2}}}), "\"a\": is there twice"));
  EXPECT_TRUE(absl::StrContains(message({{"a", {2, -1}}}), "dimension -1"));
  EXPECT_TRUE(absl::StrContains(message({{"a", {int64_t{1} << 40, int64_t{1} << 40}}}), "too many bytes"));
  EXPECT_TRUE(absl::StrContains(message({{"", {1}}}), "name"));
  EXPECT_TRUE(absl::StrContains(message({{"__metadata__", {1}}}), "__metadata__"));
  EXPECT_TRUE(absl::StrContains(message({{"\xff", {1}}}), "UTF-8"));
  EXPECT_EQ(SafetensorsWriter::Create(folder / "no/m", {}).status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(folder.Files(), std::vector<std::string>{});
}

TEST(SafetensorsTest, RoundTripOfAnyTensors) {
  const TemporaryFolder folder;
  const std::string path = folder / "a.safetensors";
  EXPECT_TRUE(rc::check([&] {
    const auto shapes = *rc::gen::container<std::vector<std::vector<int64_t>>>(
        rc::gen::resize(4, rc::gen::container<std::vector<int64_t>>(rc::gen::inRange<int64_t>(0, 4))));
    std::vector<StoredTensor> tensors;
    std::vector<std::vector<float>> data;
    for (size_t i = 0; i < shapes.size(); ++i) {
      // Names in no order, with what JSON must escape.
      tensors.push_back({absl::StrCat((i * 7) % 10, "\"\\\n layer.", i), shapes[i]});
      data.push_back(
          *rc::gen::container<std::vector<float>>(tensors.back().elements(), rc::gen::arbitrary<float>()));
    }
    RC_ASSERT(WriteAll(path, tensors, data).ok());
    const auto reader = SafetensorsReader::Open(path);
    RC_ASSERT(reader.ok());
    RC_ASSERT((*reader)->tensors().size() == tensors.size());
    RC_ASSERT((*reader)->metadata() == (std::map<std::string, std::string>{{"format", "pt"}}));
    RC_ASSERT(HeaderOf(ReadTestFile(path)).size() % 8 == 0);
    for (size_t i = 0; i < tensors.size(); ++i) {
      const StoredTensor* found = (*reader)->Find(tensors[i].name);
      RC_ASSERT(found != nullptr);
      RC_ASSERT(found->shape == tensors[i].shape);
      std::vector<float> read(data[i].size());
      RC_ASSERT((*reader)->Read(tensors[i].name, absl::MakeSpan(read)).ok());
      RC_ASSERT(std::memcmp(read.data(), data[i].data(), read.size() * sizeof(float)) == 0);
    }
  }));
}

class SafetensorsReaderTest : public testing::Test {
 protected:
  // Opening a file with these bytes fails; the message names the file and has all of `parts`.
  void ExpectRefused(const std::string& bytes, const std::vector<std::string>& parts) {
    const std::string path = folder_ / "damaged.safetensors";
    WriteTestFile(path, bytes);
    const absl::Status status = SafetensorsReader::Open(path).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
    EXPECT_TRUE(absl::StartsWith(status.message(), path)) << status;
    for (const std::string& part : parts)
      EXPECT_TRUE(absl::StrContains(status.message(), part)) << status << part;
  }

  // One tensor "a" of two elements, described by `entry`.
  static std::string OneTensor(const std::string& entry) {
    return FileBytes(absl::StrCat("{\"a\":", entry, "}"), {1, 2});
  }

  const TemporaryFolder folder_;
};

TEST_F(SafetensorsReaderTest, MissingFiles) {
  EXPECT_EQ(SafetensorsReader::Open(folder_ / "missing").status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(SafetensorsReader::Open(folder_.path()).status().code(), absl::StatusCode::kInvalidArgument);
}

TEST_F(SafetensorsReaderTest, CutOffOrMiscountedFiles) {
  const std::string whole = FileBytes(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})", {1, 2});
  ExpectRefused("", {"truncated: 0 bytes"});
  ExpectRefused(whole.substr(0, 7), {"truncated: 7 bytes"});
  ExpectRefused(whole.substr(0, 20), {"truncated", "header"});
  ExpectRefused(whole.substr(0, whole.size() - 1), {"truncated", "need 8 bytes", "has 7"});
  ExpectRefused(whole + "x", {"longer", "need 8 bytes", "has 9"});
  std::string huge = whole;
  huge[7] = 1;
  ExpectRefused(huge, {"not a safetensors file", "100000000"});
}

TEST_F(SafetensorsReaderTest, HeadersThatAreNoHeaders) {
  ExpectRefused(FileBytes("", {}), {"not JSON"});
  ExpectRefused(FileBytes("{\"a\":", {}), {"not JSON"});
  ExpectRefused(FileBytes("[]", {}), {"not a JSON object"});
  ExpectRefused(FileBytes("{\"\xff\":1}", {}), {"not JSON"});
  ExpectRefused(FileBytes(std::string(100000, '['), {}), {"not JSON"});
  ExpectRefused(FileBytes(R"({"__metadata__":[]})", {}), {"__metadata__"});
  ExpectRefused(FileBytes(R"({"__metadata__":{"format":1}})", {}), {"__metadata__.format"});
}

TEST_F(SafetensorsReaderTest, DamagedEntriesNameTheTensor) {
  ExpectRefused(OneTensor("3"), {"tensor \"a\""});
  ExpectRefused(OneTensor(R"({"shape":[2],"data_offsets":[0,8]})"), {"tensor \"a\"", "dtype"});
  ExpectRefused(OneTensor(R"({"dtype":"BF16","shape":[4],"data_offsets":[0,8]})"),
                {"tensor \"a\"", "BF16", "F32"});
  ExpectRefused(OneTensor(R"({"dtype":"F32","data_offsets":[0,8]})"), {"tensor \"a\"", "shape"});
  ExpectRefused(OneTensor(R"({"dtype":"F32","shape":[2]})"), {"tensor \"a\"", "data_offsets"});
  ExpectRefused(OneTensor(R"({"dtype":"F32","shape":[-2],"data_offsets":[0,8]})"), {"tensor \"a\"", "-2"});
  ExpectRefused(OneTensor(R"({"dtype":"F32","shape":[2.0],"data_offsets":[0,8]})"), {"tensor \"a\"", "2.0"});
  ExpectRefused(OneTensor(R"({"dtype":"F32","shape":[2],"data_offsets":[8,0]})"),
                {"tensor \"a\"", "data_offsets"});
  ExpectRefused(OneTensor(R"({"dtype":"F32","shape":[2],"data_offsets":[0]})"),
                {"tensor \"a\"", "data_offsets"});
  ExpectRefused(OneTensor(R"({"dtype":"F32","shape":[3],"data_offsets":[0,8]})"),
                {"tensor \"a\"", "12", "8"});
  ExpectRefused(OneTensor(R"({"dtype":"F32","shape":[4611686018427387905,4],"data_offsets":[0,16]})"),
                {"tensor \"a\"", "too many"});
  ExpectRefused(OneTensor(R"({"dtype":"F32","shape":[18446744073709551615],"data_offsets":[0,8]})"),
                {"tensor \"a\""});
}

TEST_F(SafetensorsReaderTest, HolesOverlapsAndDoubledNames) {
  const auto two = [](const std::string& first, int begin_a, int begin_b, const std::string& second) {
    const auto entry = [](int begin) {
      return absl::StrCat(R"({"dtype":"F32","shape":[1],"data_offsets":[)", begin, ",", begin + 4, "]}");
    };
    return FileBytes(
        absl::StrCat("{\"", first, "\":", entry(begin_a), ",\"", second, "\":", entry(begin_b), "}"), {1, 2});
  };
  ExpectRefused(two("a", 0, 0, "b"), {"tensor \"b\"", "overlap"});
  ExpectRefused(two("a", 4, 0, "b").append("1234"), {"longer"});
  ExpectRefused(two("a", 8, 0, "b"), {"tensor \"a\"", "hole"});
  ExpectRefused(two("a", 4, 8, "b"), {"tensor \"a\"", "hole"});
  ExpectRefused(two("a", 0, 4, "a"), {"\"a\" is there twice"});
  // The order in the header is free.
  WriteTestFile(folder_ / "fine", two("a", 4, 0, "b"));
  const auto reader = SafetensorsReader::Open(folder_ / "fine");
  ASSERT_TRUE(reader.ok()) << reader.status();
  std::vector<float> a(1);
  ASSERT_TRUE((*reader)->Read("a", absl::MakeSpan(a)).ok());
  EXPECT_EQ(a[0], 2);
  EXPECT_EQ((*reader)->tensors()[0].name, "b");
}

TEST_F(SafetensorsReaderTest, ReadsNameTheFileAndTheTensor) {
  WriteTestFile(folder_ / "fine", OneTensor(R"({"dtype":"F32","shape":[1,2],"data_offsets":[0,8]})"));
  const auto reader = SafetensorsReader::Open(folder_ / "fine");
  ASSERT_TRUE(reader.ok()) << reader.status();
  std::vector<float> values(2);
  EXPECT_TRUE((*reader)->Read("a", absl::MakeSpan(values)).ok());
  const absl::Status missing = (*reader)->Read("b", absl::MakeSpan(values));
  EXPECT_EQ(missing.code(), absl::StatusCode::kNotFound);
  EXPECT_TRUE(absl::StrContains(missing.message(), "fine: no tensor \"b\"")) << missing;
  values.resize(3);
  const absl::Status wrong = (*reader)->Read("a", absl::MakeSpan(values));
  EXPECT_EQ(wrong.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_TRUE(absl::StrContains(wrong.message(), "shape [1, 2], 2 elements, not 3")) << wrong;

  std::filesystem::resize_file(folder_ / "fine", 70);
  values.resize(2);
  EXPECT_EQ((*reader)->Read("a", absl::MakeSpan(values)).code(), absl::StatusCode::kDataLoss);
}

TEST_F(SafetensorsReaderTest, DamageNeverCrashesIt) {
  const std::string path = folder_ / "fuzzed";
  ASSERT_TRUE(WriteAll(path, {{"a", {2, 3}}, {"b", {4}}}, {{1, 2, 3, 4, 5, 6}, {7, 8, 9, 10}}).ok());
  const std::string whole = ReadTestFile(path);
  const std::string header_characters = "{}[]\",:0123456789-.eE \\ab_";
  EXPECT_TRUE(rc::check([&] {
    std::string bytes = whole;
    const int changes = *rc::gen::inRange(0, 5);
    for (int i = 0; i < changes; ++i) {
      bytes[*rc::gen::inRange<size_t>(0, bytes.size())] =
          *rc::gen::oneOf(rc::gen::arbitrary<char>(), rc::gen::elementOf(header_characters));
    }
    if (*rc::gen::arbitrary<bool>()) bytes.resize(*rc::gen::inRange<size_t>(0, bytes.size() + 1));
    WriteTestFile(path, bytes);
    const auto reader = SafetensorsReader::Open(path);
    if (!reader.ok()) {
      RC_ASSERT(absl::StartsWith(reader.status().message(), path));
      return;
    }
    for (const StoredTensor& tensor : (*reader)->tensors()) {
      std::vector<float> values(tensor.elements());
      RC_ASSERT((*reader)->Read(tensor.name, absl::MakeSpan(values)).ok());
    }
  }));
}

}  // namespace
}  // namespace sdp
