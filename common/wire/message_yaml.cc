#include "common/wire/message_yaml.h"

#include <charconv>
#include <cmath>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "common/wire/enum_text.h"
#include "common/wire/wire.h"
#include "google/protobuf/timestamp.pb.h"
#include "google/protobuf/util/time_util.h"
#include "yaml-cpp/yaml.h"

namespace sdp {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;
using google::protobuf::Timestamp;

// The shortest text that reads back as the same number.
std::string DoubleText(double value) {
  if (!std::isfinite(value)) return std::isnan(value) ? ".nan" : value > 0 ? ".inf" : "-.inf";
  char buffer[32];
  return std::string(buffer, std::to_chars(buffer, buffer + sizeof(buffer), value).ptr);
}

// Whether no reader of YAML could take the plain text for anything but a string.
bool PlainIsClear(const std::string& text) {
  if (text.empty() || !(absl::ascii_isalpha(static_cast<unsigned char>(text[0])) || text[0] == '/'))
    return false;
  for (const char c : text) {
    if (!absl::ascii_isalnum(static_cast<unsigned char>(c)) &&
        absl::string_view("_./-").find(c) == absl::string_view::npos) {
      return false;
    }
  }
  const std::string lower = absl::AsciiStrToLower(text);
  for (const char* word : {"true", "false", "null", "yes", "no", "on", "off", "y", "n"}) {
    if (lower == word) return false;
  }
  return true;
}

void WriteString(const std::string& text, YAML::Emitter& out) {
  if (!PlainIsClear(text)) out << YAML::DoubleQuoted;
  out << text;
}

// Calls a getter of Reflection: for element `index`, or for a field that is not repeated when it is -1.
#define SDP_GET(type) \
  (index < 0 ? reflection.Get##type(message, &field) : reflection.GetRepeated##type(message, &field, index))

void WriteMessage(const Message& message, YAML::Emitter& out);

void WriteValue(const Message& message, const FieldDescriptor& field, int index, YAML::Emitter& out) {
  const Reflection& reflection = *message.GetReflection();
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_INT32:
      out << SDP_GET(Int32);
      break;
    case FieldDescriptor::CPPTYPE_INT64:
      out << absl::StrCat(SDP_GET(Int64));
      break;
    case FieldDescriptor::CPPTYPE_UINT32:
      out << SDP_GET(UInt32);
      break;
    case FieldDescriptor::CPPTYPE_UINT64:
      out << absl::StrCat(SDP_GET(UInt64));
      break;
    case FieldDescriptor::CPPTYPE_DOUBLE:
      out << DoubleText(SDP_GET(Double));
      break;
    case FieldDescriptor::CPPTYPE_FLOAT:
      out << DoubleText(SDP_GET(Float));
      break;
    case FieldDescriptor::CPPTYPE_BOOL:
      out << SDP_GET(Bool);
      break;
    case FieldDescriptor::CPPTYPE_ENUM:
      out << ShortEnumName(*SDP_GET(Enum));
      break;
    case FieldDescriptor::CPPTYPE_STRING:
      WriteString(SDP_GET(String), out);
      break;
    case FieldDescriptor::CPPTYPE_MESSAGE:
      WriteMessage(SDP_GET(Message), out);
      break;
  }
}

#undef SDP_GET

void WriteMessage(const Message& message, YAML::Emitter& out) {
  if (message.GetDescriptor() == Timestamp::descriptor()) {
    out << YAML::DoubleQuoted
        << google::protobuf::util::TimeUtil::ToString(static_cast<const Timestamp&>(message));
    return;
  }
  const Reflection& reflection = *message.GetReflection();
  std::vector<const FieldDescriptor*> fields;
  reflection.ListFields(message, &fields);
  if (fields.empty()) out << YAML::Flow;
  out << YAML::BeginMap;
  for (const FieldDescriptor* field : fields) {
    out << YAML::Key << field->name() << YAML::Value;
    if (!field->is_repeated()) {
      WriteValue(message, *field, -1, out);
      continue;
    }
    const bool text = field->cpp_type() == FieldDescriptor::CPPTYPE_STRING;
    if (!text && field->cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE) out << YAML::Flow;
    out << YAML::BeginSeq;
    for (int i = 0; i < reflection.FieldSize(message, field); ++i) WriteValue(message, *field, i, out);
    out << YAML::EndSeq;
  }
  out << YAML::EndMap;
}

}  // namespace

std::string MessageToYaml(const Message& message) {
  YAML::Emitter out;
  WriteMessage(message, out);
  return absl::StrCat(out.c_str(), "\n");
}

std::string SpecToYaml(const v1::JobSpec& spec) { return MessageToYaml(spec); }

}  // namespace sdp
