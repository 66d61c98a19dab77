#include "common/wire/enum_text.h"

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"

namespace sdp {
namespace {

// The prefix that all values of an enum share, by the rule that value 0 is PREFIX_UNSPECIFIED.
absl::string_view Prefix(const google::protobuf::EnumDescriptor& type) {
  return absl::StripSuffix(type.value(0)->name(), "UNSPECIFIED");
}

}  // namespace

std::string ShortEnumName(const google::protobuf::EnumValueDescriptor& value) {
  return absl::AsciiStrToLower(absl::StripPrefix(value.name(), Prefix(*value.type())));
}

const google::protobuf::EnumValueDescriptor* FindEnumValue(const google::protobuf::EnumDescriptor& type,
                                                           absl::string_view text) {
  const std::string upper = absl::AsciiStrToUpper(text);
  const auto* value = type.FindValueByName(upper);
  return value != nullptr ? value : type.FindValueByName(absl::StrCat(Prefix(type), upper));
}

std::string EnumChoices(const google::protobuf::EnumDescriptor& type) {
  std::vector<std::string> choices;
  for (int i = 1; i < type.value_count(); ++i) choices.push_back(ShortEnumName(*type.value(i)));
  return JoinChoices(choices);
}

std::string JoinChoices(const std::vector<std::string>& choices) {
  if (choices.size() < 2) return absl::StrJoin(choices, "");
  return absl::StrCat(absl::StrJoin(choices.begin(), choices.end() - 1, ", "), " or ", choices.back());
}

}  // namespace sdp
