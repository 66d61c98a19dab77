// Meshes whose ranks are threads of one process: for tests, and for a job of one worker.
#pragma once

#include <memory>
#include <vector>

#include "worker/averaging/communicator.h"

namespace sdp {

// One mesh per rank, connected with each other. Of `options` only the timeout of collectives counts. A mesh
// that is destroyed is gone for the others, as a worker would be.
std::vector<std::unique_ptr<Mesh>> LoopbackMeshes(int world_size, const MeshOptions& options);

}  // namespace sdp
