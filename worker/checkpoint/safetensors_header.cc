#include "worker/checkpoint/safetensors_header.h"

#include <algorithm>
#include <exception>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "worker/checkpoint/json.h"

namespace sdp {
namespace {

using nlohmann::json;

constexpr char kMetadataKey[] = "__metadata__";
constexpr int64_t kMaxInt64 = std::numeric_limits<int64_t>::max();

absl::Status HeaderError(const std::string& path, const std::string& message) {
  return absl::InvalidArgumentError(absl::StrCat(path, ": ", message));
}

absl::Status TensorError(const std::string& path, const std::string& tensor, const std::string& message) {
  return HeaderError(path, absl::StrCat("tensor \"", tensor, "\": ", message));
}

// A tensor as its header entry says, with the range of its bytes.
struct Entry {
  StoredTensor tensor;
  int64_t begin = 0;
  int64_t end = 0;
};

// The list of non-negative integers under `key`.
absl::StatusOr<std::vector<int64_t>> Integers(const json& entry, const char* key, const std::string& path,
                                              const std::string& tensor) {
  const auto found = entry.find(key);
  if (found == entry.end() || !found->is_array()) {
    return TensorError(path, tensor, absl::StrCat("no list \"", key, "\""));
  }
  std::vector<int64_t> integers;
  for (const json& value : *found) {
    if (!value.is_number_unsigned() || value.get<uint64_t>() > static_cast<uint64_t>(kMaxInt64)) {
      return TensorError(path, tensor, absl::StrCat("\"", key, "\" has ", value.dump(), ", not a size"));
    }
    integers.push_back(value.get<int64_t>());
  }
  return integers;
}

// Bytes of a float32 tensor; -1: they overflow.
int64_t BytesOf(const std::vector<int64_t>& shape) {
  int64_t bytes = sizeof(float);
  for (const int64_t dimension : shape) {
    if (__builtin_mul_overflow(bytes, dimension, &bytes)) return -1;
  }
  return bytes;
}

absl::StatusOr<Entry> ParseEntry(const std::string& name, const json& value, const std::string& path) {
  if (!value.is_object()) return TensorError(path, name, "its entry is not an object");
  const auto type = value.find("dtype");
  if (type == value.end() || !type->is_string()) return TensorError(path, name, "no string \"dtype\"");
  if (*type != "F32") {
    return TensorError(path, name,
                       absl::StrCat("type ", type->get<std::string>(), "; only F32 is supported"));
  }
  Entry entry{{name, {}}};
  SDP_ASSIGN_OR_RETURN(entry.tensor.shape, Integers(value, "shape", path, name));
  SDP_ASSIGN_OR_RETURN(const std::vector<int64_t> range, Integers(value, "data_offsets", path, name));
  if (range.size() != 2 || range[0] > range[1]) {
    return TensorError(path, name, "\"data_offsets\" is not a begin and an end");
  }
  entry.begin = range[0];
  entry.end = range[1];
  const int64_t bytes = BytesOf(entry.tensor.shape);
  if (bytes != entry.end - entry.begin) {
    return TensorError(path, name,
                       absl::StrCat("its shape needs ", bytes < 0 ? "too many" : absl::StrCat(bytes),
                                    " bytes, its offsets give it ", entry.end - entry.begin));
  }
  return entry;
}

absl::Status ParseMetadata(const json& value, const std::string& path,
                           std::map<std::string, std::string>& metadata) {
  if (!value.is_object()) return HeaderError(path, absl::StrCat(kMetadataKey, " is not an object"));
  for (const auto& [key, text] : value.items()) {
    if (!text.is_string()) {
      return HeaderError(path, absl::StrCat(kMetadataKey, ".", key, " is not a string"));
    }
    metadata[key] = text.get<std::string>();
  }
  return absl::OkStatus();
}

// Entries in the order of their data must fill `data_bytes` exactly.
absl::Status CheckCover(const std::vector<Entry>& entries, int64_t data_bytes, const std::string& path) {
  int64_t end = 0;
  for (const Entry& entry : entries) {
    if (entry.begin != end) {
      return TensorError(path, entry.tensor.name,
                         absl::StrCat("begins at byte ", entry.begin, " of the data; the one before ends at ",
                                      end, entry.begin < end ? " (overlap)" : " (hole)"));
    }
    end = entry.end;
  }
  if (end != data_bytes) {
    return HeaderError(path, absl::StrCat(end > data_bytes ? "truncated" : "longer than its header says",
                                          ": its tensors need ", end, " bytes, the file has ", data_bytes,
                                          " after the header"));
  }
  return absl::OkStatus();
}

absl::Status CheckDeclared(const StoredTensor& tensor, const std::string& path) {
  if (tensor.name.empty() || tensor.name == kMetadataKey) {
    return TensorError(path, tensor.name, "cannot be a tensor's name");
  }
  for (const int64_t dimension : tensor.shape) {
    if (dimension < 0) return TensorError(path, tensor.name, absl::StrCat("has dimension ", dimension));
  }
  if (BytesOf(tensor.shape) < 0) return TensorError(path, tensor.name, "its shape needs too many bytes");
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::string> FormatSafetensorsHeader(const std::vector<StoredTensor>& tensors,
                                                    const std::string& path) {
  nlohmann::ordered_json header;
  header[kMetadataKey] = {{"format", "pt"}};
  std::set<std::string> names;
  int64_t offset = 0;
  for (const StoredTensor& tensor : tensors) {
    SDP_RETURN_IF_ERROR(CheckDeclared(tensor, path));
    if (!names.insert(tensor.name).second) return TensorError(path, tensor.name, "is there twice");
    const int64_t begin = offset;
    if (__builtin_add_overflow(offset, BytesOf(tensor.shape), &offset)) {
      return TensorError(path, tensor.name, "all tensors need too many bytes");
    }
    header[tensor.name] = {{"dtype", "F32"}, {"shape", tensor.shape}, {"data_offsets", {begin, offset}}};
  }
  std::string text;
  try {
    text = header.dump();
  } catch (const std::exception& error) {
    return HeaderError(path, absl::StrCat("a tensor's name is not UTF-8: ", error.what()));
  }
  text.resize((text.size() + 7) / 8 * 8, ' ');
  if (static_cast<int64_t>(text.size()) > kMaxSafetensorsHeader) {
    return HeaderError(
        path, absl::StrCat("a header of ", text.size(), " bytes; the format allows ", kMaxSafetensorsHeader));
  }
  return text;
}

absl::StatusOr<SafetensorsHeader> ParseSafetensorsHeader(absl::string_view text, int64_t data_bytes,
                                                         const std::string& path) {
  SDP_ASSIGN_OR_RETURN(const json object, ParseJson(text, path));
  if (!object.is_object()) return HeaderError(path, "its header is not a JSON object");
  SafetensorsHeader header;
  std::vector<Entry> entries;
  for (const auto& [name, value] : object.items()) {
    if (name == kMetadataKey) {
      SDP_RETURN_IF_ERROR(ParseMetadata(value, path, header.metadata));
    } else {
      SDP_ASSIGN_OR_RETURN(Entry entry, ParseEntry(name, value, path));
      entries.push_back(std::move(entry));
    }
  }
  // Empty tensors come before the one that begins at the same byte.
  std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) {
    return std::tie(a.begin, a.end, a.tensor.name) < std::tie(b.begin, b.end, b.tensor.name);
  });
  SDP_RETURN_IF_ERROR(CheckCover(entries, data_bytes, path));
  for (Entry& entry : entries) {
    header.tensors.push_back(std::move(entry.tensor));
    header.offsets.push_back(entry.begin);
  }
  return header;
}

}  // namespace sdp
