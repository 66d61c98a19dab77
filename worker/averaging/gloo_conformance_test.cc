#include "worker/averaging/conformance.h"
#include "worker/averaging/gloo_mesh.h"
#include "worker/averaging/local_rendezvous.h"

namespace sdp {
namespace {

Meshes GlooMeshes(int world_size, const MeshOptions& options) {
  Meshes meshes(world_size);
  AddressBook book;
  OnEveryRank(world_size, [&](Rank rank) {
    MeshOptions own = options;
    own.rank = rank;
    own.world_size = world_size;
    LocalRendezvous rendezvous(book, rank);
    auto mesh = ConnectGlooMesh(own, rendezvous);
    ASSERT_TRUE(mesh.ok()) << mesh.status();
    meshes[rank] = *std::move(mesh);
  });
  return meshes;
}

INSTANTIATE_TEST_SUITE_P(Gloo, MeshConformance, ::testing::Values(&GlooMeshes));

}  // namespace
}  // namespace sdp
