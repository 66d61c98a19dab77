// Checks of single fields, which collect problems instead of stopping at the first.
#pragma once

#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/model/plan.h"
#include "common/wire/enum_maps.h"
#include "common/wire/enum_text.h"
#include "common/wire/wire.h"

namespace sdp {

// Collects problems. Every check returns the value to go on with; it is meaningless when a problem was added.
class FieldChecks {
 public:
  void Add(std::string field, std::string message) {
    problems_.push_back({std::move(field), std::move(message)});
  }

  // A number that must be given; 0 means it was not.
  int64_t Required(const std::string& field, int64_t value, int64_t minimum, int64_t maximum) {
    if (value == 0) {
      Add(field, absl::StrCat("is required: a number from ", minimum, " to ", maximum));
      return value;
    }
    return InRange(field, value, minimum, maximum);
  }

  // A number where 0 stands for `default_value`.
  int64_t OrDefault(const std::string& field, int64_t value, int64_t default_value, int64_t minimum,
                    int64_t maximum) {
    return value == 0 ? default_value : InRange(field, value, minimum, maximum);
  }

  int64_t InRange(const std::string& field, int64_t value, int64_t minimum, int64_t maximum) {
    if (value < minimum || value > maximum) {
      Add(field, absl::StrCat("is ", value, "; must be from ", minimum, " to ", maximum));
    }
    return value;
  }

  int64_t AtLeast(const std::string& field, int64_t value, int64_t minimum) {
    if (value < minimum) Add(field, absl::StrCat("is ", value, "; must be at least ", minimum));
    return value;
  }

  // A finite number above 0, where 0 stands for `default_value`.
  double PositiveOrDefault(const std::string& field, double value, double default_value) {
    if (value == 0) return default_value;
    if (!std::isfinite(value) || value < 0) {
      Add(field, absl::StrCat("is ", value, "; must be a finite number above 0"));
    }
    return value;
  }

  // A worker's speed, where 0 stands for `default_value`.
  double RelativeSpeed(const std::string& field, double value, double default_value) {
    if (value == 0) return default_value;
    return Finite(
        field, value, [](double v) { return v >= kMinRelativeSpeed && v <= kMaxRelativeSpeed; },
        absl::StrCat("from ", kMinRelativeSpeed, " to ", kMaxRelativeSpeed));
  }

  double Finite(const std::string& field, double value) {
    return Finite(
        field, value, [](double) { return true; }, "a finite number");
  }

  // A finite number for which `fine` holds; `requirement` says which those are.
  template <typename Predicate>
  double Finite(const std::string& field, double value, Predicate fine, absl::string_view requirement) {
    if (!std::isfinite(value) || !fine(value)) {
      Add(field, absl::StrCat("is ", value, "; must be ", requirement));
    }
    return value;
  }

  // An enum value that the table of the wire's values knows.
  template <typename Model, typename Wire, size_t N>
  Model Known(const std::string& field, const std::pair<Model, Wire> (&table)[N], Wire value) {
    const std::optional<Model> model = FromWire(table, value);
    if (!model) {
      Add(field, absl::StrCat("is ", static_cast<int>(value), ", which this version does not know; must be ",
                              EnumChoices(*google::protobuf::GetEnumDescriptor<Wire>())));
    }
    return model.value_or(table[0].first);
  }

  // An absolute path.
  std::string AbsolutePath(const std::string& field, const std::string& path) {
    if (path.empty()) {
      Add(field, "is required: an absolute path");
    } else if (path[0] != '/') {
      Add(field, absl::StrCat("is \"", path, "\"; must be an absolute path, which starts with '/'"));
    } else if (path.find('\0') != std::string::npos) {
      Add(field, "must not contain a NUL character");
    }
    return path;
  }

  // Whether `field`, or something below it, has a problem already: what depends on it is then not checked.
  bool Wrong(absl::string_view field) const {
    for (const SpecProblem& problem : problems_) {
      const absl::string_view other = problem.field;
      if (other == field) return true;
      if (other.size() > field.size() && other.substr(0, field.size()) == field &&
          (other[field.size()] == '.' || other[field.size()] == '[')) {
        return true;
      }
    }
    return false;
  }

  const std::vector<SpecProblem>& problems() const { return problems_; }

 private:
  std::vector<SpecProblem> problems_;
};

}  // namespace sdp
