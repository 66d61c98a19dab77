#include "worker/averaging/gloo_connect.h"

#include <chrono>
#include <exception>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"
#include "common/base/status_macros.h"
#include "gloo/transport/tcp/address.h"
#include "gloo/transport/tcp/device.h"
#include "worker/averaging/gloo_address.h"
#include "worker/averaging/gloo_error.h"
#include "worker/averaging/gloo_pair.h"
#include "worker/averaging/scoped_sigpipe_block.h"
#include "worker/averaging/slot.h"
#include "worker/averaging/suspect.h"

namespace sdp {
namespace {

using GlooContext = gloo::transport::Context;
using GlooAddress = gloo::transport::tcp::Address;

// For waits that something else ends.
constexpr std::chrono::milliseconds kForever = std::chrono::hours(24 * 365);
// How often the rendezvous is asked whether the attempt is still wanted.
constexpr absl::Duration kPollPeriod = absl::Milliseconds(20);

// Numeric hosts to listen on and to be reached at.
struct Hosts {
  std::string bound;
  std::string advertised;
};

absl::StatusOr<Hosts> ResolveHosts(const MeshOptions& options) {
  Hosts hosts;
  SDP_ASSIGN_OR_RETURN(hosts.bound, ResolveHost(options.bind_address, AF_UNSPEC, "bind_address"));
  hosts.advertised = hosts.bound;
  if (!options.advertised_address.empty()) {
    SDP_ASSIGN_OR_RETURN(const sockaddr_storage bound, NumericSockaddr(hosts.bound, 0));
    SDP_ASSIGN_OR_RETURN(hosts.advertised,
                         ResolveHost(options.advertised_address, bound.ss_family, "advertised_address"));
  }
  if (IsWildcard(hosts.advertised)) {
    const bool given = !options.advertised_address.empty();
    return absl::InvalidArgumentError(absl::StrCat(
        given ? "advertised_address" : "bind_address", " \"",
        given ? options.advertised_address : options.bind_address,
        "\" stands for all interfaces; set advertised_address to the one at which peers reach this worker"));
  }
  // Gloo listens on one interface only; nobody is told of any other.
  if (IsWildcard(hosts.bound)) hosts.bound = hosts.advertised;
  return hosts;
}

// A context with a listening, unconnected pair for every peer.
absl::StatusOr<std::shared_ptr<GlooContext>> Listen(const MeshOptions& options, const Hosts& hosts,
                                                    uint64_t key) {
  ScopedSigpipeBlock block;  // for the device's thread
  try {
    gloo::transport::tcp::attr attributes;
    attributes.hostname = hosts.bound;
    const auto device = gloo::transport::tcp::CreateDevice(attributes);
    const std::shared_ptr<GlooContext> context = device->createContext(options.rank, options.world_size);
    for (Rank peer = 0; peer < options.world_size; ++peer) {
      if (peer == options.rank) continue;
      context->getPair(peer) = std::make_unique<GuardedPair>(
          static_cast<gloo::transport::tcp::Context*>(context.get()),
          static_cast<gloo::transport::tcp::Device*>(device.get()), peer, GreetingSlot(key));
    }
    return context;
  } catch (const std::exception& error) {
    return absl::FailedPreconditionError(
        absl::StrCat("cannot listen on ", hosts.bound, " (bind_address \"", options.bind_address,
                     "\"), which must be an address of this machine: ", ReasonOf(error.what())));
  }
}

absl::StatusOr<MeshAddress> AddressOfContext(GlooContext& context, const Hosts& hosts, uint64_t key) {
  MeshAddress self;
  self.rank = context.rank;
  self.key = key;
  self.host = hosts.advertised;
  self.ports.resize(context.size, 0);
  for (Rank peer = 0; peer < context.size; ++peer) {
    if (peer == context.rank) continue;
    const GlooAddress address(static_cast<const GlooAddress&>(context.getPair(peer)->address()));
    self.ports[peer] = PortOf(address.getSockaddr());
    // Newer versions have one port for all and tell connections apart by sequence number.
    if (HostOf(address.getSockaddr()) != hosts.bound || self.ports[peer] == 0 ||
        address.getSeq() != GlooAddress::kSequenceNumberUnset) {
      return absl::InternalError(absl::StrCat("Gloo listens on ", address.str(), ", not on a port of ",
                                              hosts.bound, ": another version of Gloo?"));
    }
  }
  return self;
}

absl::Status CheckFamily(const MeshAddress& self, const MeshAddress& peer) {
  SDP_ASSIGN_OR_RETURN(const sockaddr_storage own, NumericSockaddr(self.host, 0));
  SDP_ASSIGN_OR_RETURN(const sockaddr_storage other, NumericSockaddr(peer.host, 0));
  if (own.ss_family == other.ss_family) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat("rank ", self.rank, " is reached at ", self.host,
                                                    " and rank ", peer.rank, " at ", peer.host,
                                                    ": all must have IPv4 or all IPv6 addresses"));
}

// What the threads of an attempt share.
struct Progress {
  absl::Mutex mutex;
  absl::CondVar changed;
  absl::Status error ABSL_GUARDED_BY(mutex);  // the first
};

// One connection in the making, on a thread of its own: Gloo's connect blocks. The higher rank connects to
// the lower one.
class Connection {
 public:
  Connection(GlooContext& context, Progress& progress, const MeshAddress& self, const MeshAddress& peer)
      : context_(context),
        pair_(static_cast<GuardedPair&>(*context.getPair(peer.rank))),
        progress_(progress),
        self_(self),
        peer_(peer),
        thread_([this] { Run(); }) {}
  ~Connection() {
    Cancel();
    thread_.join();
  }

  Rank peer() const { return peer_.rank; }
  bool done() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(progress_.mutex) { return phase_ == Phase::kDone; }

  // What it still waits for.
  std::string Missing() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(progress_.mutex) {
    const std::string peer = absl::StrCat("rank ", peer_.rank);
    if (phase_ == Phase::kGreeting)
      return absl::StrCat(peer, " (", peer_.host, ") is connected but does not answer");
    if (connects()) return absl::StrCat(peer, " cannot be reached at ", Place());
    return absl::StrCat(peer, " (", peer_.host, ") does not connect to this rank, ", self_.rank, ", at ",
                        Endpoint(self_, peer_.rank));
  }

  // Ends the attempt, unless it is done.
  void Cancel() ABSL_LOCKS_EXCLUDED(progress_.mutex) {
    absl::MutexLock lock(&progress_.mutex);
    cancelled_ = true;
    if (phase_ == Phase::kConnecting) pair_.close();
    if (phase_ == Phase::kGreeting) {
      sent_buffer_->abortWaitSend();
      received_buffer_->abortWaitRecv();
    }
  }

 private:
  enum class Phase { kNotBegun, kConnecting, kGreeting, kEnding, kDone };

  bool connects() const { return self_.rank > peer_.rank; }
  std::string Place() const { return Endpoint(peer_, self_.rank); }

  void Run() {
    absl::Status status = Connect();
    if (status.ok()) status = Greet();
    absl::MutexLock lock(&progress_.mutex);
    phase_ = Phase::kDone;
    if (progress_.error.ok()) progress_.error = status;
    progress_.changed.SignalAll();
  }

  absl::Status Enter(Phase phase) ABSL_LOCKS_EXCLUDED(progress_.mutex) {
    absl::MutexLock lock(&progress_.mutex);
    if (cancelled_) return GivenUp();
    phase_ = phase;
    return absl::OkStatus();
  }

  static absl::Status GivenUp() { return absl::CancelledError("the attempt to connect was given up"); }

  absl::Status Unavailable(const char* what) const {
    return WithSuspect(
        absl::UnavailableError(absl::StrCat("connection with rank ", peer_.rank, " (",
                                            connects() ? Place() : peer_.host, "): ", ReasonOf(what))),
        peer_.rank);
  }

  absl::Status Connect() {
    SDP_ASSIGN_OR_RETURN(const sockaddr_storage listener,
                         NumericSockaddr(peer_.host, peer_.ports[self_.rank]));
    SDP_RETURN_IF_ERROR(Enter(Phase::kConnecting));
    try {
      connects() ? pair_.Connect(listener) : pair_.AwaitConnection();
    } catch (const std::exception& error) {
      return Unavailable(error.what());
    }
    return absl::OkStatus();
  }

  // Each side shows the other's key, in the slot, and says who it is.
  absl::Status Greet() {
    int64_t sent = self_.rank, received = -1;
    sent_buffer_ = context_.createUnboundBuffer(&sent, sizeof(sent));
    received_buffer_ = context_.createUnboundBuffer(&received, sizeof(received));
    absl::Status status = Enter(Phase::kGreeting);
    try {
      if (status.ok()) {
        sent_buffer_->send(peer_.rank, GreetingSlot(peer_.key));
        received_buffer_->recv(peer_.rank, GreetingSlot(self_.key));
        if (!sent_buffer_->waitSend(kForever) || !received_buffer_->waitRecv(kForever)) status = GivenUp();
      }
    } catch (const std::exception& error) {
      status = Unavailable(error.what());
    }
    absl::MutexLock lock(&progress_.mutex);
    phase_ = Phase::kEnding;
    sent_buffer_.reset();  // before what they point to
    received_buffer_.reset();
    if (status.ok() && received != peer_.rank) {
      status = absl::FailedPreconditionError(absl::StrCat("rank ", received, " answers at ", Place(),
                                                          ", where rank ", peer_.rank, " should be"));
    }
    return status;
  }

  GlooContext& context_;
  GuardedPair& pair_;
  Progress& progress_;
  const MeshAddress& self_;
  const MeshAddress& peer_;
  Phase phase_ ABSL_GUARDED_BY(progress_.mutex) = Phase::kNotBegun;
  bool cancelled_ ABSL_GUARDED_BY(progress_.mutex) = false;
  // Exist throughout Phase::kGreeting.
  std::unique_ptr<gloo::transport::UnboundBuffer> sent_buffer_, received_buffer_;
  std::thread thread_;
};

using Connections = std::vector<std::unique_ptr<Connection>>;

absl::Status WaitForAll(const Connections& connections, Progress& progress, Rank any_peer,
                        absl::Time deadline, Rendezvous& rendezvous) {
  while (true) {
    {
      absl::MutexLock lock(&progress.mutex);
      std::vector<std::string> missing;
      Rank missing_rank = 0;
      for (const auto& connection : connections) {
        if (connection->done()) continue;
        missing.push_back(connection->Missing());
        missing_rank = connection->peer();
      }
      SDP_RETURN_IF_ERROR(progress.error);
      if (missing.empty()) return absl::OkStatus();
      if (absl::Now() >= deadline) {
        const absl::Status late = absl::DeadlineExceededError(
            absl::StrCat("not connected in time: ", absl::StrJoin(missing, "; ")));
        // With several missing, this rank is as likely to be the cause as any of them.
        return missing.size() == 1 ? WithSuspect(late, missing_rank) : late;
      }
      progress.changed.WaitWithTimeout(&progress.mutex, kPollPeriod);
    }
    const absl::Status wanted = rendezvous.AddressOf(any_peer, absl::InfinitePast()).status();
    if (absl::IsCancelled(wanted)) return wanted;
  }
}

}  // namespace

absl::StatusOr<std::shared_ptr<GlooContext>> ConnectGlooContext(const MeshOptions& options,
                                                                Rendezvous& rendezvous) {
  const absl::Time deadline = absl::Now() + options.connect_timeout;
  SDP_ASSIGN_OR_RETURN(const Hosts hosts, ResolveHosts(options));
  std::random_device random;
  const uint64_t key = uint64_t{random()} << 32 | random();
  SDP_ASSIGN_OR_RETURN(std::shared_ptr<GlooContext> context, Listen(options, hosts, key));
  SDP_ASSIGN_OR_RETURN(const MeshAddress self, AddressOfContext(*context, hosts, key));
  SDP_RETURN_IF_ERROR(rendezvous.Publish(FormatMeshAddress(self)));

  std::vector<MeshAddress> peers;
  for (Rank rank = 0; rank < options.world_size; ++rank) {
    if (rank == options.rank) continue;
    SDP_ASSIGN_OR_RETURN(const std::string text, rendezvous.AddressOf(rank, deadline));
    SDP_ASSIGN_OR_RETURN(MeshAddress peer, ParseMeshAddress(text, rank, options.world_size));
    SDP_RETURN_IF_ERROR(CheckFamily(self, peer));
    peers.push_back(std::move(peer));
  }

  ScopedSigpipeBlock block;  // for the connections' threads
  Progress progress;
  Connections connections;
  for (const MeshAddress& peer : peers) {
    connections.push_back(std::make_unique<Connection>(*context, progress, self, peer));
  }
  SDP_RETURN_IF_ERROR(WaitForAll(connections, progress, peers.front().rank, deadline, rendezvous));
  connections.clear();
  return context;
}

}  // namespace sdp
