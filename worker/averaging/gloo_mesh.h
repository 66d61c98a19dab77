// Mesh over TCP by Gloo, for CPUs.
#pragma once

#include <memory>

#include "absl/status/statusor.h"
#include "worker/averaging/communicator.h"

namespace sdp {

// Connects this rank with all others of the world, over one TCP connection per pair of ranks. While it
// connects it asks `rendezvous` again every few milliseconds for an address that it already has: CANCELLED,
// as the answer at any time, ends the attempt at once and is passed on.
//
// INVALID_ARGUMENT: an option that cannot be used, by name (a host that does not resolve, a wildcard address
// that would be advertised), or a peer's address that is none. FAILED_PRECONDITION: an address that this
// machine does not have, a peer that belongs to another mesh, or addresses in an order that Gloo cannot
// connect (see gloo_address.h). UNAVAILABLE: a peer cannot be reached or went away; DEADLINE_EXCEEDED: not
// all connections stood within connect_timeout. Both name the ranks and their advertised addresses.
absl::StatusOr<std::unique_ptr<Mesh>> ConnectGlooMesh(const MeshOptions& options, Rendezvous& rendezvous);

}  // namespace sdp
