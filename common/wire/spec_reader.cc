#include "common/wire/spec_reader.h"

#include <cmath>
#include <limits>
#include <optional>
#include <set>
#include <type_traits>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/wire/enum_text.h"
#include "common/wire/suggest.h"
#include "sdp/v1/spec.pb.h"

namespace sdp {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

// Whole numbers also as 1e9, which people write for tokens; quoted ones are what proto JSON has for 64 bits.
template <typename T>
std::optional<T> ParseInteger(const std::string& text) {
  T value;
  if (absl::SimpleAtoi(text, &value)) return value;
  constexpr double kExact = 9007199254740992.0;  // 2^53: all whole numbers up to here are doubles
  double number;
  if (!absl::SimpleAtod(text, &number) || std::abs(number) > kExact || std::trunc(number) != number) {
    return std::nullopt;
  }
  if (number < static_cast<double>(std::numeric_limits<T>::min())) return std::nullopt;
  if (number > static_cast<double>(std::numeric_limits<T>::max())) return std::nullopt;
  return static_cast<T>(number);
}

template <typename T>
std::string IntegerRequirement() {
  return absl::StrCat("must be a whole number from ", std::numeric_limits<T>::min(), " to ",
                      std::numeric_limits<T>::max());
}

template <typename T>
void Store(const FieldDescriptor& field, Message* message, T value,
           void (Reflection::*set)(Message*, const FieldDescriptor*, T) const,
           void (Reflection::*add)(Message*, const FieldDescriptor*, T) const) {
  (message->GetReflection()->*(field.is_repeated() ? add : set))(message, &field, std::move(value));
}

// Sets the field from the text of a scalar. Returns what would be right when the text is not.
std::string StoreNumber(const std::string& text, const FieldDescriptor& field, Message* message) {
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_INT32: {
      const std::optional<int32_t> value = ParseInteger<int32_t>(text);
      if (!value) return IntegerRequirement<int32_t>();
      Store(field, message, *value, &Reflection::SetInt32, &Reflection::AddInt32);
      return "";
    }
    case FieldDescriptor::CPPTYPE_INT64: {
      const std::optional<int64_t> value = ParseInteger<int64_t>(text);
      if (!value) return IntegerRequirement<int64_t>();
      Store<int64_t>(field, message, *value, &Reflection::SetInt64, &Reflection::AddInt64);
      return "";
    }
    case FieldDescriptor::CPPTYPE_UINT64: {
      const std::optional<uint64_t> value = ParseInteger<uint64_t>(text);
      if (!value) return IntegerRequirement<uint64_t>();
      Store<uint64_t>(field, message, *value, &Reflection::SetUInt64, &Reflection::AddUInt64);
      return "";
    }
    case FieldDescriptor::CPPTYPE_DOUBLE: {
      double value;
      if (!absl::SimpleAtod(text, &value) || !std::isfinite(value)) return "must be a finite number";
      Store(field, message, value, &Reflection::SetDouble, &Reflection::AddDouble);
      return "";
    }
    case FieldDescriptor::CPPTYPE_BOOL: {
      const std::string lower = absl::AsciiStrToLower(text);
      if (lower != "true" && lower != "false") return "must be true or false";
      Store(field, message, lower == "true", &Reflection::SetBool, &Reflection::AddBool);
      return "";
    }
    default:
      return absl::StrCat("is of the type ", field.cpp_type_name(), ", which cannot be written as text");
  }
}

const char* Kind(const YAML::Node& node) {
  if (node.IsMap()) return "a mapping";
  if (node.IsSequence()) return "a list";
  return node.IsNull() ? "nothing" : "a single value";
}

std::vector<std::string> FieldNames(const Descriptor& type) {
  std::vector<std::string> names;
  for (int i = 0; i < type.field_count(); ++i) names.push_back(type.field(i)->name());
  return names;
}

// Where in the spec a field of exactly this name lies; empty when nowhere.
std::string FindAnywhere(const std::string& name, const Descriptor& type, const std::string& path) {
  for (int i = 0; i < type.field_count(); ++i) {
    const std::string below = FieldPath(path, type.field(i)->name());
    if (type.field(i)->name() == name) return below;
    if (type.field(i)->cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE) continue;
    const std::string found = FindAnywhere(name, *type.field(i)->message_type(), below);
    if (!found.empty()) return found;
  }
  return "";
}

}  // namespace

std::string FieldPath(const std::string& path, const std::string& name) {
  return path.empty() ? name : absl::StrCat(path, ".", name);
}

std::string UnknownFieldMessage(const std::string& name, const Descriptor& type) {
  const std::vector<std::string> names = FieldNames(type);
  if (const std::string near = ClosestName(name, names); !near.empty()) {
    return absl::StrCat("no such field; did you mean `", near, "`?");
  }
  const std::string elsewhere = FindAnywhere(name, *v1::JobSpec::descriptor(), "");
  if (!elsewhere.empty()) return absl::StrCat("no such field here; did you mean `", elsewhere, "`?");
  return absl::StrCat("no such field; here are ", absl::StrJoin(names, ", "));
}

void SpecReader::Add(const YAML::Node& node, const std::string& path, const std::string& message) {
  const int line = with_lines_ ? node.Mark().line : -1;
  problems_.push_back({path, line < 0 ? message : absl::StrCat("line ", line + 1, ": ", message)});
}

void SpecReader::ReadMessage(const YAML::Node& node, const std::string& path, Message* message) {
  const Descriptor& type = *message->GetDescriptor();
  if (!node.IsMap()) {
    Add(node, path,
        absl::StrCat("is ", Kind(node), "; must be a mapping of ", absl::StrJoin(FieldNames(type), ", ")));
    return;
  }
  std::set<std::string> seen;
  for (const auto& entry : node) {
    if (!entry.first.IsScalar()) {
      Add(entry.first, path, "has a field name that is no word");
      continue;
    }
    const std::string& name = entry.first.Scalar();
    const std::string below = FieldPath(path, name);
    const FieldDescriptor* field = type.FindFieldByName(name);
    if (!seen.insert(name).second) {
      Add(entry.first, below, "is given twice");
    } else if (field == nullptr) {
      Add(entry.first, below, UnknownFieldMessage(name, type));
    } else {
      ReadField(entry.second, below, *field, message);
    }
  }
}

void SpecReader::ReadField(const YAML::Node& node, const std::string& path, const FieldDescriptor& field,
                           Message* message) {
  const Reflection& reflection = *message->GetReflection();
  reflection.ClearField(message, &field);
  if (node.IsNull()) return;
  if (!field.is_repeated()) {
    const auto* oneof = field.real_containing_oneof();
    const FieldDescriptor* other =
        oneof != nullptr ? reflection.GetOneofFieldDescriptor(*message, oneof) : nullptr;
    if (other != nullptr) {
      Add(node, path, absl::StrCat("excludes `", other->name(), "`, which is given too"));
      return;
    }
    ReadValue(node, path, field, message);
    return;
  }
  if (!node.IsSequence()) {
    Add(node, path, absl::StrCat("is ", Kind(node), "; must be a list, as in [a, b]"));
    return;
  }
  for (size_t i = 0; i < node.size(); ++i)
    ReadValue(node[i], absl::StrCat(path, "[", i, "]"), field, message);
}

void SpecReader::ReadValue(const YAML::Node& node, const std::string& path, const FieldDescriptor& field,
                           Message* message) {
  if (field.cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
    const Reflection& reflection = *message->GetReflection();
    ReadMessage(node, path,
                field.is_repeated() ? reflection.AddMessage(message, &field)
                                    : reflection.MutableMessage(message, &field));
  } else if (!node.IsScalar()) {
    Add(node, path, absl::StrCat("is ", Kind(node), "; must be a single value"));
  } else if (field.cpp_type() == FieldDescriptor::CPPTYPE_ENUM) {
    ReadEnum(node, path, field, message);
  } else if (field.cpp_type() == FieldDescriptor::CPPTYPE_STRING) {
    Store<std::string>(field, message, node.Scalar(), &Reflection::SetString, &Reflection::AddString);
  } else if (const std::string right = StoreNumber(node.Scalar(), field, message); !right.empty()) {
    Add(node, path, absl::StrCat("is \"", node.Scalar(), "\"; ", right));
  }
}

void SpecReader::ReadEnum(const YAML::Node& node, const std::string& path, const FieldDescriptor& field,
                          Message* message) {
  const auto* value = FindEnumValue(*field.enum_type(), node.Scalar());
  if (value == nullptr) {
    Add(node, path, absl::StrCat("is \"", node.Scalar(), "\"; must be ", EnumChoices(*field.enum_type())));
    return;
  }
  Store(field, message, value, &Reflection::SetEnum, &Reflection::AddEnum);
}

}  // namespace sdp
