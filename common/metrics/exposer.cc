#include "common/metrics/exposer.h"

#include <prometheus/collectable.h>
#include <prometheus/exposer.h>

#include <exception>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace sdp {
namespace {

// Threads that answer scrapes; one slow reader must not block another.
constexpr size_t kServerThreads = 2;

class PrometheusServer : public MetricsServer {
 public:
  explicit PrometheusServer(std::unique_ptr<prometheus::Exposer> exposer)
      : exposer_(std::move(exposer)), port_(exposer_->GetListeningPorts().at(0)) {}
  int port() const override { return port_; }

 private:
  const std::unique_ptr<prometheus::Exposer> exposer_;
  const int port_;
};

// The HTTP library takes anything that looks like options, such as "8080s,9090r": only IP:PORT passes.
absl::Status CheckAddress(const std::string& address) {
  const size_t colon = address.rfind(':');
  int port = -1;
  if (colon == std::string::npos || colon == 0 || !absl::SimpleAtoi(address.substr(colon + 1), &port) ||
      port < 0 || port > 65535) {
    return absl::InvalidArgumentError(absl::StrCat("metrics address \"", address,
                                                   "\": must be IP:PORT with a port from 0 to 65535, as in "
                                                   "0.0.0.0:9400"));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::unique_ptr<MetricsServer>> StartExposer(const std::string& address,
                                                            const Registry& registry) {
  if (absl::Status status = CheckAddress(address); !status.ok()) return status;
  try {
    auto exposer = std::make_unique<prometheus::Exposer>(address, kServerThreads);
    exposer->RegisterCollectable(registry.collectable());
    return std::make_unique<PrometheusServer>(std::move(exposer));
  } catch (const std::exception& error) {
    return absl::UnavailableError(absl::StrCat("cannot serve metrics at ", address,
                                               ": the address is in use or not local (", error.what(), ")"));
  }
}

}  // namespace sdp
