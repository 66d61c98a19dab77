#include "worker/checkpoint/json.h"

#include <exception>
#include <set>
#include <vector>

#include "absl/strings/str_cat.h"

namespace sdp {

absl::StatusOr<nlohmann::json> ParseJson(absl::string_view text, const std::string& source) {
  std::vector<std::set<std::string>> keys;  // of the objects around the parser's position
  std::string doubled;
  const auto watch = [&](int, nlohmann::json::parse_event_t event, nlohmann::json& value) {
    if (event == nlohmann::json::parse_event_t::object_start) keys.emplace_back();
    if (event == nlohmann::json::parse_event_t::object_end) keys.pop_back();
    if (event == nlohmann::json::parse_event_t::key) {
      const std::string& key = value.get_ref<const std::string&>();
      if (!keys.back().insert(key).second && doubled.empty()) doubled = key;
    }
    return true;
  };
  try {
    nlohmann::json value = nlohmann::json::parse(text.begin(), text.end(), watch);
    if (!doubled.empty()) {
      return absl::InvalidArgumentError(absl::StrCat(source, ": \"", doubled, "\" is there twice"));
    }
    return value;
  } catch (const std::exception& error) {
    return absl::InvalidArgumentError(absl::StrCat(source, ": not JSON: ", error.what()));
  }
}

}  // namespace sdp
