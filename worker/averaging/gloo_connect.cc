#include "worker/averaging/gloo_connect.h"

#include <algorithm>
#include <chrono>
#include <cstring>
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
#include "worker/averaging/scoped_sigpipe_block.h"
#include "worker/averaging/slot.h"

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
    return absl::InvalidArgumentError(
        absl::StrCat(options.advertised_address.empty() ? "bind_address \"" : "advertised_address \"",
                     options.advertised_address.empty() ? options.bind_address : options.advertised_address,
                     "\" stands for all interfaces and would be advertised; set advertised_address to the "
                     "address at which "
                     "peers reach this worker"));
  }
  // Gloo listens on one interface only; nobody is told of any other.
  if (IsWildcard(hosts.bound)) hosts.bound = hosts.advertised;
  return hosts;
}

// A context with a listening, unconnected pair for every peer.
absl::StatusOr<std::shared_ptr<GlooContext>> Listen(const MeshOptions& options, const Hosts& hosts) {
  ScopedSigpipeBlock block;  // for the device's thread
  try {
    gloo::transport::tcp::attr attributes;
    attributes.hostname = hosts.bound;
    std::shared_ptr<GlooContext> context =
        gloo::transport::tcp::CreateDevice(attributes)->createContext(options.rank, options.world_size);
    // Pairs give up connecting after five times this; the deadline comes first.
    context->setTimeout(
        absl::ToChronoMilliseconds(std::clamp(options.connect_timeout, absl::Seconds(1), absl::Hours(24))));
    for (Rank peer = 0; peer < options.world_size; ++peer) {
      if (peer != options.rank) context->createPair(peer);
    }
    return context;
  } catch (const std::exception& error) {
    return absl::FailedPreconditionError(
        absl::StrCat("cannot listen on ", hosts.bound, " (bind_address \"", options.bind_address,
                     "\"), which must be an address of this machine: ", ReasonOf(error.what())));
  }
}

absl::StatusOr<MeshAddress> AddressOfContext(GlooContext& context, const Hosts& hosts) {
  MeshAddress self;
  self.rank = context.rank;
  std::random_device random;
  self.key = uint64_t{random()} << 32 | random();
  self.bound_host = hosts.bound;
  self.advertised_host = hosts.advertised;
  self.ports.resize(context.size, 0);
  for (Rank peer = 0; peer < context.size; ++peer) {
    if (peer == context.rank) continue;
    try {
      const GlooAddress address(context.getPair(peer)->address().bytes());
      self.ports[peer] = PortOf(address.getSockaddr());
      // Newer versions multiplex one port by sequence number, which the published form has no place for.
      if (HostOf(address.getSockaddr()) != hosts.bound || self.ports[peer] == 0 ||
          address.getSeq() != GlooAddress::kSequenceNumberUnset) {
        return absl::InternalError(absl::StrCat("Gloo listens on ", address.str(), ", not on a port of ",
                                                hosts.bound, ": another version of Gloo?"));
      }
    } catch (const std::exception& error) {
      return absl::InternalError(absl::StrCat("Gloo's address cannot be read: ", ReasonOf(error.what())));
    }
  }
  return self;
}

// What the threads of an attempt share.
struct Progress {
  absl::Mutex mutex;
  absl::CondVar changed;
  absl::Status error ABSL_GUARDED_BY(mutex);  // the first
};

// First message on a connection, in both directions: proves that it is the right one.
struct Hello {
  char magic[8] = {'s', 'd', 'p', '-', 'm', 'e', 's', 'h'};
  uint64_t key = 0;  // the receiver's
  int64_t rank = 0;  // the sender's

  friend bool operator==(const Hello& a, const Hello& b) {
    return std::memcmp(a.magic, b.magic, sizeof(a.magic)) == 0 && a.key == b.key && a.rank == b.rank;
  }
};

// One connection in the making, on a thread of its own: Gloo's connect blocks.
class Connection {
 public:
  Connection(GlooContext& context, Progress& progress, const MeshAddress& self, const MeshAddress& peer,
             ConnectRole role)
      : context_(context),
        pair_(*context.getPair(peer.rank)),
        progress_(progress),
        self_(self),
        peer_(peer),
        role_(role),
        thread_([this] { Run(); }) {}
  ~Connection() {
    Cancel();
    thread_.join();
  }

  bool done() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(progress_.mutex) { return phase_ == Phase::kDone; }

  // What it still waits for.
  std::string Missing() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(progress_.mutex) {
    const std::string peer = absl::StrCat("rank ", peer_.rank);
    if (phase_ == Phase::kHello)
      return absl::StrCat(peer, " at ", Place(), " is connected but does not answer");
    if (role_ == ConnectRole::kConnects) return absl::StrCat(peer, " cannot be reached at ", Place());
    return absl::StrCat(peer, " (", peer_.advertised_host, ") does not connect to this rank, ", self_.rank,
                        ", at ", Endpoint(self_, peer_.rank));
  }

  // Ends the attempt, unless it is done.
  void Cancel() ABSL_LOCKS_EXCLUDED(progress_.mutex) {
    absl::MutexLock lock(&progress_.mutex);
    cancelled_ = true;
    if (phase_ == Phase::kConnecting) pair_.close();
    if (phase_ == Phase::kHello) {
      hello_out_->abortWaitSend();
      hello_in_->abortWaitRecv();
    }
  }

 private:
  enum class Phase { kNotBegun, kConnecting, kHello, kEnding, kDone };

  std::string Place() const { return Endpoint(peer_, self_.rank); }

  void Run() {
    absl::Status status = Connect();
    if (status.ok()) status = SayHello();
    absl::MutexLock lock(&progress_.mutex);
    phase_ = Phase::kDone;
    if (progress_.error.ok()) progress_.error = status;
    progress_.changed.SignalAll();
  }

  absl::Status Enter(Phase phase) ABSL_LOCKS_EXCLUDED(progress_.mutex) {
    absl::MutexLock lock(&progress_.mutex);
    if (cancelled_) return absl::CancelledError("the attempt to connect was given up");
    phase_ = phase;
    return absl::OkStatus();
  }

  absl::Status Unavailable(const char* what) const {
    return absl::UnavailableError(
        absl::StrCat("connection with rank ", peer_.rank, " at ", Place(), ": ", ReasonOf(what)));
  }

  // The address to hand to Gloo, which takes its role from it.
  absl::StatusOr<std::vector<char>> Target() const {
    SDP_ASSIGN_OR_RETURN(const sockaddr_storage listening,
                         NumericSockaddr(self_.bound_host, self_.ports[peer_.rank]));
    SDP_ASSIGN_OR_RETURN(sockaddr_storage target,
                         NumericSockaddr(peer_.advertised_host, peer_.ports[self_.rank]));
    if (role_ == ConnectRole::kListens && ConnectsItself(listening, target)) {
      SDP_ASSIGN_OR_RETURN(target, NumericSockaddr(LargestHost(target.ss_family), 65535));
    }
    return GlooAddress(target).bytes();
  }

  absl::Status Connect() {
    SDP_ASSIGN_OR_RETURN(const std::vector<char> target, Target());
    SDP_RETURN_IF_ERROR(Enter(Phase::kConnecting));
    try {
      pair_.connect(target);
    } catch (const std::exception& error) {
      return Unavailable(error.what());
    }
    return absl::OkStatus();
  }

  absl::Status SayHello() {
    Hello sent, received;
    sent.key = peer_.key;
    sent.rank = self_.rank;
    hello_out_ = context_.createUnboundBuffer(&sent, sizeof(sent));
    hello_in_ = context_.createUnboundBuffer(&received, sizeof(received));
    absl::Status status = Enter(Phase::kHello);
    try {
      if (status.ok()) {
        hello_in_->recv(peer_.rank, kHelloSlot);
        hello_out_->send(peer_.rank, kHelloSlot);
        if (!hello_in_->waitRecv(kForever) || !hello_out_->waitSend(kForever)) {
          status = absl::CancelledError("the attempt to connect was given up");
        }
      }
    } catch (const std::exception& error) {
      status = Unavailable(error.what());
    }
    absl::MutexLock lock(&progress_.mutex);
    phase_ = Phase::kEnding;
    hello_in_.reset();  // before the memory that they write to
    hello_out_.reset();
    SDP_RETURN_IF_ERROR(status);
    Hello expected;
    expected.key = self_.key;
    expected.rank = peer_.rank;
    if (received == expected) return absl::OkStatus();
    return absl::FailedPreconditionError(absl::StrCat(
        "rank ", peer_.rank, " at ", Place(), " belongs to another mesh, or this connection is not its"));
  }

  GlooContext& context_;
  gloo::transport::Pair& pair_;
  Progress& progress_;
  const MeshAddress& self_;
  const MeshAddress& peer_;
  const ConnectRole role_;
  Phase phase_ ABSL_GUARDED_BY(progress_.mutex) = Phase::kNotBegun;
  bool cancelled_ ABSL_GUARDED_BY(progress_.mutex) = false;
  // Exist from before Phase::kHello to its end.
  std::unique_ptr<gloo::transport::UnboundBuffer> hello_in_, hello_out_;
  std::thread thread_;
};

using Connections = std::vector<std::unique_ptr<Connection>>;

absl::Status WaitForAll(const Connections& connections, Progress& progress, Rank any_peer,
                        absl::Time deadline, Rendezvous& rendezvous) {
  while (true) {
    {
      absl::MutexLock lock(&progress.mutex);
      std::vector<std::string> missing;
      for (const auto& connection : connections) {
        if (!connection->done()) missing.push_back(connection->Missing());
      }
      SDP_RETURN_IF_ERROR(progress.error);
      if (missing.empty()) return absl::OkStatus();
      if (absl::Now() >= deadline) {
        return absl::DeadlineExceededError(
            absl::StrCat("not connected in time: ", absl::StrJoin(missing, "; ")));
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
  SDP_ASSIGN_OR_RETURN(std::shared_ptr<GlooContext> context, Listen(options, hosts));
  SDP_ASSIGN_OR_RETURN(const MeshAddress self, AddressOfContext(*context, hosts));
  SDP_RETURN_IF_ERROR(rendezvous.Publish(FormatMeshAddress(self)));

  std::vector<MeshAddress> peers;
  std::vector<ConnectRole> roles;
  for (Rank rank = 0; rank < options.world_size; ++rank) {
    if (rank == options.rank) continue;
    SDP_ASSIGN_OR_RETURN(const std::string text, rendezvous.AddressOf(rank, deadline));
    SDP_ASSIGN_OR_RETURN(MeshAddress peer, ParseMeshAddress(text, rank, options.world_size));
    SDP_ASSIGN_OR_RETURN(const ConnectRole role, RoleTowards(self, peer));
    peers.push_back(std::move(peer));
    roles.push_back(role);
  }

  ScopedSigpipeBlock block;  // for the connections' threads
  Progress progress;
  Connections connections;
  for (size_t i = 0; i < peers.size(); ++i) {
    connections.push_back(std::make_unique<Connection>(*context, progress, self, peers[i], roles[i]));
  }
  SDP_RETURN_IF_ERROR(WaitForAll(connections, progress, peers.front().rank, deadline, rendezvous));
  connections.clear();
  return context;
}

}  // namespace sdp
