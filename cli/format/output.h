// The formats of -o.
#pragma once

#include <string>

#include "google/protobuf/message.h"

namespace sdp::cli {

enum class OutputFormat { kTable, kWide, kJson, kYaml, kName };

// As JSON with the proto's field names, indented; ends with a newline. Only set fields are written.
std::string MessageToJson(const google::protobuf::Message& message);

// `message` in kJson or kYaml, which are the same for all messages.
std::string StructuredText(const google::protobuf::Message& message, OutputFormat format);

// A list without elements: scripts that iterate over `field` need it to be there.
std::string EmptyListText(const std::string& field, OutputFormat format);

inline bool IsStructured(OutputFormat format) {
  return format == OutputFormat::kJson || format == OutputFormat::kYaml;
}

}  // namespace sdp::cli
