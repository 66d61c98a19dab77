// Any message of the API as YAML.
#pragma once

#include <string>

#include "google/protobuf/message.h"

namespace sdp {

// The set fields in the proto's order, enum values short, timestamps in RFC 3339. Ends with a newline.
std::string MessageToYaml(const google::protobuf::Message& message);

}  // namespace sdp
