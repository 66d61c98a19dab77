#include "worker/averaging/suspect.h"

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace sdp {
namespace {

constexpr char kTypeUrl[] = "sdp/suspected-rank";

}  // namespace

absl::Status WithSuspect(absl::Status status, Rank rank) {
  status.SetPayload(kTypeUrl, absl::Cord(absl::StrCat(rank)));
  return status;
}

std::optional<Rank> SuspectedRank(const absl::Status& status) {
  const absl::optional<absl::Cord> payload = status.GetPayload(kTypeUrl);
  Rank rank = 0;
  if (!payload || !absl::SimpleAtoi(std::string(*payload), &rank)) return std::nullopt;
  return rank;
}

}  // namespace sdp
