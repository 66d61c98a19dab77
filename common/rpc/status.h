// absl::Status over gRPC: the details travel as google.rpc.Status, which clients in every language read.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "grpcpp/support/status.h"

namespace sdp {

// `status` with a google.rpc.ErrorInfo of the domain "sdp". `reason` is UPPER_SNAKE_CASE, for programs to act
// on. OK stays OK.
absl::Status WithReason(absl::Status status, absl::string_view reason);

// The reason of the ErrorInfo that `status` carries; empty when it has none.
std::string ReasonOf(const absl::Status& status);

// Code, message and all payloads; a payload's type URL must be that of a proto message. An error without
// ErrorInfo gets one whose reason is the code's name. What would not fit in the metadata that every gRPC
// client accepts (8 KiB) is cut: the end of the message, then the last field violations, whose number is then
// said.
grpc::Status ToGrpc(const absl::Status& status);

// The reverse. A status from another server without details has its code and message alone.
absl::Status FromGrpc(const grpc::Status& status);

}  // namespace sdp
