// How clients and servers of this system speak gRPC: one place, because both ends must agree on keepalive.
#pragma once

#include <memory>
#include <string>

#include "absl/time/time.h"
#include "grpcpp/channel.h"
#include "grpcpp/client_context.h"
#include "grpcpp/server_builder.h"

namespace sdp {

// Deadline of unary calls. Streams have none: keepalive notices a dead peer.
inline constexpr absl::Duration kUnaryDeadline = absl::Seconds(10);

// A channel to HOST:PORT, not yet connected. Calls of the services that people use are retried on
// UNAVAILABLE, a few times within about two seconds; WorkerService is not, since the agent decides about
// reconnecting.
std::shared_ptr<grpc::Channel> MakeChannel(const std::string& address);

// The server's side: receive limit, and keepalive that tolerates the clients' pings.
void ApplyServerOptions(grpc::ServerBuilder& builder);

void SetDeadline(grpc::ClientContext& context, absl::Duration timeout = kUnaryDeadline);

}  // namespace sdp
