#include "common/wire/unknown_fields.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "google/protobuf/unknown_field_set.h"

namespace sdp {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

void Collect(const Message& message, const std::string& path, std::vector<SpecProblem>* problems) {
  const auto& unknown = message.GetReflection()->GetUnknownFields(message);
  for (int i = 0; i < unknown.field_count(); ++i) {
    problems->push_back({path, absl::StrCat("field number ", unknown.field(i).number(), " of ",
                                            message.GetDescriptor()->name(),
                                            " is unknown to this version; leave it out, or upgrade")});
  }
  std::vector<const FieldDescriptor*> fields;
  message.GetReflection()->ListFields(message, &fields);
  for (const FieldDescriptor* field : fields) {
    if (field->cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE || field->is_repeated()) continue;
    Collect(message.GetReflection()->GetMessage(message, field),
            path.empty() ? field->name() : absl::StrCat(path, ".", field->name()), problems);
  }
}

}  // namespace

std::vector<SpecProblem> UnknownFieldProblems(const Message& message) {
  std::vector<SpecProblem> problems;
  Collect(message, "", &problems);
  return problems;
}

}  // namespace sdp
