// Bringing up the connections of a Gloo mesh.
#pragma once

#include <memory>

#include "absl/status/statusor.h"
#include "gloo/transport/context.h"
#include "worker/averaging/communicator.h"

namespace sdp {

// A context whose pairs are connected and have proved to be the peers that they should be. For worlds of at
// least two; otherwise as ConnectGlooMesh.
absl::StatusOr<std::shared_ptr<gloo::transport::Context>> ConnectGlooContext(const MeshOptions& options,
                                                                             Rendezvous& rendezvous);

}  // namespace sdp
