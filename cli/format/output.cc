#include "cli/format/output.h"

#include "common/base/check.h"
#include "common/wire/message_yaml.h"
#include "google/protobuf/util/json_util.h"

namespace sdp::cli {

std::string MessageToJson(const google::protobuf::Message& message) {
  google::protobuf::util::JsonPrintOptions options;
  options.preserve_proto_field_names = true;
  options.add_whitespace = true;
  std::string json;
  // Fails only for messages that JSON cannot express (Any of unknown types); the API has none.
  const auto status = google::protobuf::util::MessageToJsonString(message, &json, options);
  SDP_CHECK(status.ok(), "the API's messages have a JSON form");
  return json;
}

std::string StructuredText(const google::protobuf::Message& message, OutputFormat format) {
  return format == OutputFormat::kYaml ? MessageToYaml(message) : MessageToJson(message);
}

std::string EmptyListText(const std::string& field, OutputFormat format) {
  return format == OutputFormat::kYaml ? field + ": []\n" : "{\"" + field + "\": []}\n";
}

}  // namespace sdp::cli
