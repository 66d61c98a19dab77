// Plain builders of shards, from the formats' descriptions alone: what the tests compare with.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace sdp {

template <typename T>
void AppendNumber(std::string& bytes, T value) {
  for (size_t i = 0; i < sizeof(T); ++i)
    bytes.push_back(static_cast<char>(static_cast<uint64_t>(value) >> 8 * i));
}

inline std::string TokenBytes(const std::vector<int32_t>& tokens, int token_bytes) {
  std::string bytes;
  for (const int32_t token : tokens) {
    if (token_bytes == 2) {
      AppendNumber<uint16_t>(bytes, token);
    } else {
      AppendNumber<uint32_t>(bytes, token);
    }
  }
  return bytes;
}

inline std::string LlmcBytes(int32_t magic, int32_t version, int32_t count,
                             const std::vector<int32_t>& tokens, int token_bytes) {
  std::string bytes;
  AppendNumber(bytes, magic);
  AppendNumber(bytes, version);
  AppendNumber(bytes, count);
  bytes.resize(1024);
  return bytes + TokenBytes(tokens, token_bytes);
}

inline std::string Gpt2Bytes(const std::vector<int32_t>& tokens) {
  return LlmcBytes(20240520, 1, tokens.size(), tokens, 2);
}

inline std::string Llama3Bytes(const std::vector<int32_t>& tokens) {
  return LlmcBytes(20240801, 7, tokens.size(), tokens, 4);
}

// The index of documents with the given numbers of tokens.
inline std::string MegatronIndexBytes(const std::vector<int32_t>& lengths, int token_bytes) {
  std::string bytes("MMIDIDX\0\0", 9);
  AppendNumber<uint64_t>(bytes, 1);
  AppendNumber<uint8_t>(bytes, token_bytes == 2 ? 8 : 4);
  AppendNumber<uint64_t>(bytes, lengths.size());
  AppendNumber<uint64_t>(bytes, lengths.size() + 1);
  for (const int32_t length : lengths) AppendNumber<int32_t>(bytes, length);
  int64_t offset = 0;
  for (const int32_t length : lengths) {
    AppendNumber<int64_t>(bytes, offset);
    offset += int64_t{length} * token_bytes;
  }
  for (size_t i = 0; i <= lengths.size(); ++i) AppendNumber<int64_t>(bytes, i);
  return bytes;
}

}  // namespace sdp
