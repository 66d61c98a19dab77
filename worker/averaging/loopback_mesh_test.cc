#include "worker/averaging/loopback_mesh.h"

#include "worker/averaging/conformance.h"

namespace sdp {
namespace {

INSTANTIATE_TEST_SUITE_P(Loopback, MeshConformance, ::testing::Values(&LoopbackMeshes));

}  // namespace
}  // namespace sdp
