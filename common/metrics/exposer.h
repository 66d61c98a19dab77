// The HTTP server that Prometheus reads a process's metrics from.
#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "common/metrics/registry.h"

namespace sdp {

// Serves /metrics until destroyed.
class MetricsServer {
 public:
  virtual ~MetricsServer() = default;
  // The port that it listens on.
  virtual int port() const = 0;
};

// Serves the registry, which must outlive the server, at http://`address`/metrics. `address` is IP:PORT, as
// in "0.0.0.0:9400" or "[::1]:9400"; port 0 takes a free one. INVALID_ARGUMENT: not of that form;
// UNAVAILABLE: cannot listen there.
absl::StatusOr<std::unique_ptr<MetricsServer>> StartExposer(const std::string& address,
                                                            const Registry& registry);

}  // namespace sdp
