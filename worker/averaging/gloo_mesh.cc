#include "worker/averaging/gloo_mesh.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "worker/averaging/collective_mesh.h"
#include "worker/averaging/gloo_connect.h"
#include "worker/averaging/gloo_transport.h"
#include "worker/averaging/loopback_mesh.h"

namespace sdp {

absl::StatusOr<std::unique_ptr<Mesh>> ConnectGlooMesh(const MeshOptions& options, Rendezvous& rendezvous) {
  if (options.world_size < 1 || options.rank < 0 || options.rank >= options.world_size) {
    return absl::InvalidArgumentError(
        absl::StrCat("rank ", options.rank, " is not in a world of ", options.world_size));
  }
  if (options.world_size == 1) return std::move(LoopbackMeshes(1, options).front());
  SDP_ASSIGN_OR_RETURN(std::shared_ptr<gloo::transport::Context> context,
                       ConnectGlooContext(options, rendezvous));
  return MakeMesh(std::make_unique<GlooTransport>(std::move(context)), options);
}

}  // namespace sdp
