#include "coordinator/service/coordinator_server.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "common/rpc/options.h"
#include "grpcpp/ext/proto_server_reflection_plugin.h"
#include "grpcpp/health_check_service_interface.h"
#include "grpcpp/server_builder.h"
#include "spdlog/spdlog.h"

namespace sdp::coordinator {

absl::StatusOr<std::unique_ptr<CoordinatorServer>> CoordinatorServer::Start(ServerOptions options) {
  std::unique_ptr<CoordinatorServer> server(new CoordinatorServer(std::move(options)));
  const absl::Status listening = server->Listen();
  if (!listening.ok()) return listening;
  return server;
}

CoordinatorServer::CoordinatorServer(ServerOptions options)
    : options_(std::move(options)),
      rpc_series_(*options_.registry),
      metrics_(options_.registry),
      runner_(CoordinatorCore(options_.timing, options_.planner), options_.clock, options_.store, this),
      worker_streams_(options_.incarnation, &runner_),
      watches_(&runner_),
      job_service_(UnaryContext{&runner_, &rpc_series_, options_.clock}, &watches_),
      plan_service_(UnaryContext{&runner_, &rpc_series_, options_.clock}),
      cluster_service_(UnaryContext{&runner_, &rpc_series_, options_.clock}) {}

CoordinatorServer::~CoordinatorServer() { Shutdown(); }

absl::Status CoordinatorServer::Listen() {
  grpc::EnableDefaultHealthCheckService(true);
  grpc::reflection::InitProtoReflectionServerBuilderPlugin();
  grpc::ServerBuilder builder;
  ApplyServerOptions(builder);
  // Otherwise a second coordinator could listen at the same port and take half of the calls.
  builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
  builder.AddListeningPort(options_.listen, grpc::InsecureServerCredentials(), &port_);
  builder.RegisterService(&worker_streams_);
  builder.RegisterService(&job_service_);
  builder.RegisterService(&plan_service_);
  builder.RegisterService(&cluster_service_);
  server_ = builder.BuildAndStart();
  if (server_ == nullptr || port_ == 0) {
    return absl::UnavailableError(absl::StrCat("cannot listen at ", options_.listen,
                                               ": the port is taken, or this machine has no such address"));
  }
  if (options_.tick_interval > absl::ZeroDuration()) {
    ticker_ = std::make_unique<Ticker>(options_.tick_interval, [this] { Tick(); });
  }
  return absl::OkStatus();
}

void CoordinatorServer::Tick() {
  ClusterSnapshot snapshot;
  runner_.Run([&snapshot](CoordinatorCore& core, absl::Time now) {
    Effects effects = core.Step(coordinator::Tick{}, now);
    snapshot = TakeSnapshot(core);
    return effects;
  });
  watches_.NotifyAll();
  metrics_.Update(snapshot);
}

void CoordinatorServer::Shutdown(absl::Duration timeout) {
  if (server_ == nullptr) return;
  server_->GetHealthCheckService()->SetServingStatus(false);
  ticker_.reset();
  const absl::Status status = absl::UnavailableError("the coordinator is shutting down");
  watches_.ShutDown(status);
  worker_streams_.ShutDown(status);
  server_->Shutdown(std::chrono::system_clock::now() + absl::ToChronoMilliseconds(timeout));
  server_->Wait();
  server_.reset();
}

void CoordinatorServer::SendToSession(SessionId session, const ToWorker& message) {
  worker_streams_.SendTo(session, message);
}

void CoordinatorServer::CloseSession(SessionId session, const absl::Status& status) {
  worker_streams_.Close(session, status);
}

void CoordinatorServer::JobChanged(const JobId& id) { watches_.Notify(id); }

void CoordinatorServer::EventAdded(const JobId& id, const JobEvent& event) {
  spdlog::info("jobs/{} {} (event {}): {}", id.value(), JobStateName(event.state), event.sequence,
               event.message);
  watches_.Notify(id);
}

void CoordinatorServer::WriteLog(const Log& log) {
  spdlog::log(log.warning ? spdlog::level::warn : spdlog::level::info, "{}", log.text);
}

void CoordinatorServer::StoreFailed(const absl::Status& status) {
  spdlog::critical("the store cannot be written: {}", std::string(status.message()));
  if (options_.on_store_failed != nullptr) options_.on_store_failed(status);
}

}  // namespace sdp::coordinator
