#include "coordinator/service/page.h"

#include <algorithm>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"

namespace sdp::coordinator {

absl::StatusOr<int> PageSize(int requested, int otherwise) {
  if (requested < 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("page_size: is ", requested, "; must be 1 to ", kMaxPageSize));
  }
  return std::min(requested == 0 ? otherwise : requested, kMaxPageSize);
}

std::string EncodePageToken(const std::string& listing, const std::string& position) {
  return absl::WebSafeBase64Escape(absl::StrCat(listing, ":", position));
}

absl::StatusOr<std::string> DecodePageToken(const std::string& listing, const std::string& token) {
  std::string text;
  absl::string_view position;
  if (absl::WebSafeBase64Unescape(token, &text)) {
    position = text;
    if (absl::ConsumePrefix(&position, absl::StrCat(listing, ":"))) return std::string(position);
  }
  return absl::InvalidArgumentError(
      absl::StrCat("page_token: '", token, "' is not a next_page_token of this listing"));
}

}  // namespace sdp::coordinator
