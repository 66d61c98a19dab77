// Fills a message from a YAML tree by reflection, and collects everything that does not fit.
#pragma once

#include <string>
#include <vector>

#include "common/wire/wire.h"
#include "google/protobuf/message.h"
#include "yaml-cpp/yaml.h"

namespace sdp {

class SpecReader {
 public:
  // `with_lines`: whether problems name the line of the text.
  explicit SpecReader(bool with_lines) : with_lines_(with_lines) {}

  // Fills `message`, which lies at `path` of the spec, from a mapping.
  void ReadMessage(const YAML::Node& node, const std::string& path, google::protobuf::Message* message);

  // Fills one field, which lies at `path`; what it held before is replaced. A null leaves it unset.
  void ReadField(const YAML::Node& node, const std::string& path,
                 const google::protobuf::FieldDescriptor& field, google::protobuf::Message* message);

  // Appends one element to a repeated field, or sets a field that is not repeated. The element lies at
  // `path`.
  void ReadValue(const YAML::Node& node, const std::string& path,
                 const google::protobuf::FieldDescriptor& field, google::protobuf::Message* message);

  const std::vector<SpecProblem>& problems() const { return problems_; }

 private:
  void Add(const YAML::Node& node, const std::string& path, const std::string& message);
  void ReadEnum(const YAML::Node& node, const std::string& path,
                const google::protobuf::FieldDescriptor& field, google::protobuf::Message* message);

  const bool with_lines_;
  std::vector<SpecProblem> problems_;
};

// `name` below `path`: "model.llama" + "heads".
std::string FieldPath(const std::string& path, const std::string& name);

// What to say about a name that is no field of `type`: what it was meant to be, or which names there are.
std::string UnknownFieldMessage(const std::string& name, const google::protobuf::Descriptor& type);

}  // namespace sdp
