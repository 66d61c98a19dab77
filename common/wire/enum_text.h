// Enum values as people write them: "block" for MASKING_UNIT_BLOCK. Works for every enum of the API, by
// descriptor.
#pragma once

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "google/protobuf/descriptor.h"
#include "google/protobuf/generated_enum_reflection.h"

namespace sdp {

// MASKING_UNIT_BLOCK -> "block".
std::string ShortEnumName(const google::protobuf::EnumValueDescriptor& value);

// The same for a generated enum; the number itself when this version does not know the value.
template <typename Enum>
std::string ShortEnumName(Enum value) {
  const auto* found = google::protobuf::GetEnumDescriptor<Enum>()->FindValueByNumber(value);
  return found != nullptr ? ShortEnumName(*found) : std::to_string(static_cast<int>(value));
}

// The value that `text` names, in full or short, in any case; null when there is none.
const google::protobuf::EnumValueDescriptor* FindEnumValue(const google::protobuf::EnumDescriptor& type,
                                                           absl::string_view text);

// The short names of all values but the unspecified one: "balanced, explicit or full".
std::string EnumChoices(const google::protobuf::EnumDescriptor& type);

// "a", "a or b", "a, b or c".
std::string JoinChoices(const std::vector<std::string>& choices);

}  // namespace sdp
