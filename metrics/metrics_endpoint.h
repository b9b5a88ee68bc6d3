// GET /metrics, for Prometheus.
#ifndef PENSTOCK_METRICS_METRICS_ENDPOINT_H_
#define PENSTOCK_METRICS_METRICS_ENDPOINT_H_

#include <functional>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "metrics/metric_families.h"

namespace penstock {

class HttpPort;

// Returns the page that GET /metrics gives.
std::string MetricsPage(const std::function<void(MetricFamilies&)>& collect);

// Serves plain HTTP on a thread of its own. Each scrape calls `collect`; between scrapes it costs
// nothing. A client has 2 s and 8 KiB for its request, and cannot make others wait (http_port.h).
// Thread-safe.
class MetricsEndpoint {
 public:
  // Called on the endpoint's thread.
  using Collect = std::function<void(MetricFamilies&)>;

  // kInvalidArgument: `listen` is not HOST:PORT.
  static absl::Status CheckAddress(absl::string_view listen);
  // `listen` is HOST:PORT; port 0 takes a free port.
  // kInvalidArgument: `listen` is not HOST:PORT.
  // kUnavailable: the port cannot listen on that address.
  // kResourceExhausted: a thread could not be started.
  static absl::StatusOr<std::unique_ptr<MetricsEndpoint>> Start(absl::string_view listen,
                                                                Collect collect);
  // After it has returned, `collect` is not called.
  ~MetricsEndpoint();

  // The address that it listens on: "127.0.0.1:41234" for "127.0.0.1:0".
  const std::string& address() const { return address_; }

 private:
  MetricsEndpoint(std::unique_ptr<HttpPort> port, std::string address);

  const std::unique_ptr<HttpPort> port_;
  const std::string address_;
};

}  // namespace penstock

#endif  // PENSTOCK_METRICS_METRICS_ENDPOINT_H_
