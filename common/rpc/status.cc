#include "common/rpc/status.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/cord.h"
#include "absl/strings/str_cat.h"
#include "common/base/utf8.h"
#include "google/protobuf/any.pb.h"
#include "google/rpc/error_details.pb.h"
#include "google/rpc/status.pb.h"

namespace sdp {
namespace {

constexpr char kDomain[] = "sdp";
constexpr char kErrorInfoUrl[] = "type.googleapis.com/google.rpc.ErrorInfo";
constexpr char kBadRequestUrl[] = "type.googleapis.com/google.rpc.BadRequest";

// Trailing metadata that any gRPC client accepts is 8 KiB in all; some is left for other entries.
constexpr size_t kMetadataBytes = 7 * 1024;
constexpr size_t kMessageBytes = 1024;

std::string ShortMessage(absl::string_view message) {
  const std::string text = ToUtf8(message);
  if (text.size() <= kMessageBytes) return text;
  return absl::StrCat(CutUtf8(text, kMessageBytes), " ... (cut)");
}

// Size of the message on the wire, where gRPC percent-encodes it.
size_t PercentEncodedSize(const std::string& message) {
  size_t size = 0;
  for (const char c : message) size += c >= ' ' && c <= '~' && c != '%' ? 1 : 3;
  return size;
}

absl::Cord ErrorInfoPayload(absl::string_view reason) {
  google::rpc::ErrorInfo info;
  info.set_reason(std::string(reason));
  info.set_domain(kDomain);
  return absl::Cord(info.SerializeAsString());
}

// A serialized BadRequest of at most `bytes`, with as many violations as fit and the number of the others.
std::string FitBadRequest(const std::string& serialized, size_t bytes) {
  google::rpc::BadRequest request;
  if (serialized.size() <= bytes || !request.ParseFromString(serialized)) return serialized;
  constexpr size_t kFraming = 4;  // a violation's tag and its length
  constexpr size_t kRestBytes = 64;
  size_t used = kRestBytes;
  int kept = 0;
  for (const auto& violation : request.field_violations()) {
    used += violation.ByteSizeLong() + kFraming;
    if (used > bytes) break;
    ++kept;
  }
  auto* violations = request.mutable_field_violations();
  const int left_out = violations->size() - kept;
  violations->DeleteSubrange(kept, left_out);
  request.add_field_violations()->set_description(absl::StrCat("and ", left_out, " problems more"));
  return request.SerializeAsString();
}

// Adds a detail of at most `bytes`; one that cannot be made to fit is left out.
void AddDetail(absl::string_view url, const absl::Cord& payload, size_t bytes, google::rpc::Status* status) {
  const size_t overhead = url.size() + 16;  // tags and lengths
  if (bytes < overhead) return;
  std::string value(payload);
  if (url == kBadRequestUrl) value = FitBadRequest(value, bytes - overhead);
  if (value.size() > bytes - overhead) return;
  google::protobuf::Any* detail = status->add_details();
  detail->set_type_url(std::string(url));
  detail->set_value(std::move(value));
}

}  // namespace

absl::Status WithReason(absl::Status status, absl::string_view reason) {
  if (!status.ok()) status.SetPayload(kErrorInfoUrl, ErrorInfoPayload(reason));
  return status;
}

std::string ReasonOf(const absl::Status& status) {
  const absl::optional<absl::Cord> payload = status.GetPayload(kErrorInfoUrl);
  google::rpc::ErrorInfo info;
  if (!payload || !info.ParseFromString(std::string(*payload))) return "";
  return info.reason();
}

grpc::Status ToGrpc(const absl::Status& status) {
  if (status.ok()) return grpc::Status::OK;
  google::rpc::Status rich;
  rich.set_code(static_cast<int>(status.code()));
  rich.set_message(ShortMessage(status.message()));
  // The details are sent in base64: 4 characters for 3 bytes.
  const size_t budget = (kMetadataBytes - PercentEncodedSize(rich.message())) / 4 * 3;
  const auto room = [&] { return budget - std::min<size_t>(budget, rich.ByteSizeLong()); };
  AddDetail(
      kErrorInfoUrl,
      status.GetPayload(kErrorInfoUrl).value_or(ErrorInfoPayload(absl::StatusCodeToString(status.code()))),
      room(), &rich);
  status.ForEachPayload([&](absl::string_view url, const absl::Cord& payload) {
    if (url != kErrorInfoUrl) AddDetail(url, payload, room(), &rich);
  });
  return grpc::Status(static_cast<grpc::StatusCode>(status.raw_code()), rich.message(),
                      rich.SerializeAsString());
}

absl::Status FromGrpc(const grpc::Status& status) {
  if (status.ok()) return absl::OkStatus();
  absl::Status result(static_cast<absl::StatusCode>(status.error_code()), status.error_message());
  google::rpc::Status rich;
  if (!status.error_details().empty() && rich.ParseFromString(status.error_details())) {
    for (const google::protobuf::Any& detail : rich.details()) {
      result.SetPayload(detail.type_url(), absl::Cord(detail.value()));
    }
  }
  return result;
}

}  // namespace sdp
