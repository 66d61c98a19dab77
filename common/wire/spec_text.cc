#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "common/base/utf8.h"
#include "common/wire/spec_reader.h"
#include "common/wire/wire.h"
#include "yaml-cpp/yaml.h"

namespace sdp {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

// Far above any real spec, far below what would keep the parser busy.
constexpr size_t kMaxSpecBytes = 1 << 20;

// One step of a field path: "train_shards[2]".
struct PathStep {
  std::string name;
  int index = -1;  // -1: none
};

// False: malformed.
bool ParseStep(absl::string_view text, PathStep* step) {
  const size_t bracket = text.find('[');
  step->name = std::string(text.substr(0, bracket));
  if (bracket == absl::string_view::npos) return !step->name.empty();
  return !step->name.empty() && text.back() == ']' &&
         absl::SimpleAtoi(text.substr(bracket + 1, text.size() - bracket - 2), &step->index) &&
         step->index >= 0;
}

std::string TextProblem(const std::string& text) {
  if (text.size() > kMaxSpecBytes) {
    return absl::StrCat("is ", text.size(), " bytes long; must be at most ", kMaxSpecBytes);
  }
  return IsUtf8(text) ? "" : "is not UTF-8 text";
}

// Sets element `index` of a list of strings, or appends it when the list is just that long.
void SetElement(const YAML::Node& node, const std::string& path, const FieldDescriptor& field, int index,
                SpecReader* reader, Message* message) {
  const auto* reflection = message->GetReflection();
  const int size = reflection->FieldSize(*message, &field);
  reader->ReadValue(node, path, field, message);
  if (reflection->FieldSize(*message, &field) == size) return;  // not read; the reader has the problem
  if (index == size) return;
  reflection->SwapElements(message, &field, index, size);
  reflection->RemoveLast(message, &field);
}

// The problem with `step` as a step from `message`; empty when there is none.
std::string StepProblem(const PathStep& step, const Message& message) {
  const FieldDescriptor* field = message.GetDescriptor()->FindFieldByName(step.name);
  if (field == nullptr) return UnknownFieldMessage(step.name, *message.GetDescriptor());
  if (step.index < 0) return "";
  if (!field->is_repeated()) return "is no list: leave the index out";
  const int size = message.GetReflection()->FieldSize(message, field);
  return step.index <= size ? "" : absl::StrCat("the list has ", size, " elements");
}

std::vector<SpecProblem> SetField(const std::string& path, const YAML::Node& node, v1::JobSpec* spec) {
  Message* message = spec;
  const std::vector<std::string> steps = absl::StrSplit(path, '.');
  for (size_t i = 0; i < steps.size(); ++i) {
    PathStep step;
    if (!ParseStep(steps[i], &step)) return {{path, "is no field path; must be as in data.train_shards[0]"}};
    if (std::string problem = StepProblem(step, *message); !problem.empty())
      return {{path, std::move(problem)}};
    const FieldDescriptor& field = *message->GetDescriptor()->FindFieldByName(step.name);
    if (i + 1 < steps.size()) {
      if (field.cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE || field.is_repeated()) {
        return {{path, absl::StrCat("`", step.name, "` has no fields below it")}};
      }
      message = message->GetReflection()->MutableMessage(message, &field);
      continue;
    }
    SpecReader reader(/*with_lines=*/false);
    if (step.index >= 0) {
      SetElement(node, path, field, step.index, &reader, message);
    } else {
      reader.ReadField(node, path, field, message);
    }
    return reader.problems();
  }
  return {};
}

}  // namespace

std::vector<SpecProblem> ParseSpecText(const std::string& text, v1::JobSpec* spec) {
  if (std::string problem = TextProblem(text); !problem.empty())
    return {{"", "the spec " + std::move(problem)}};
  try {
    const std::vector<YAML::Node> documents = YAML::LoadAll(text);
    if (documents.empty() || (documents.size() == 1 && documents[0].IsNull()))
      return {{"", "the spec is empty"}};
    if (documents.size() > 1) {
      return {{"", absl::StrCat("the text holds ", documents.size(), " documents; must be one")}};
    }
    SpecReader reader(/*with_lines=*/true);
    if (documents[0].IsMap()) {
      reader.ReadMessage(documents[0], "", spec);
      return reader.problems();
    }
    return {{"", "the text is no mapping; must be fields and values, as in `seed: 1`"}};
  } catch (const YAML::Exception& error) {
    return {{"", absl::StrCat("line ", error.mark.line + 1, ", column ", error.mark.column + 1,
                              ": neither YAML nor JSON: ", error.msg)}};
  } catch (const std::exception& error) {
    return {{"", absl::StrCat("neither YAML nor JSON: ", error.what())}};
  }
}

std::vector<SpecProblem> SetSpecField(const std::string& path, const std::string& value, v1::JobSpec* spec) {
  if (std::string problem = TextProblem(value); !problem.empty()) return {{path, std::move(problem)}};
  try {
    return SetField(path, YAML::Load(value), spec);
  } catch (const std::exception& error) {
    return {{path, absl::StrCat("the value is no YAML: ", error.what())}};
  }
}

}  // namespace sdp
