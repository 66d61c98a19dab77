// The Mesh over any transport.
#pragma once

#include <memory>

#include "worker/averaging/communicator.h"
#include "worker/averaging/transport.h"

namespace sdp {

// `transport` connects this rank with all others. Uses the timeouts of `options` only.
std::unique_ptr<Mesh> MakeMesh(std::unique_ptr<Transport> transport, const MeshOptions& options);

}  // namespace sdp
