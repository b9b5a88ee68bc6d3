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

// Plain HTTP on a thread of its own; a scrape asks `collect` and costs nothing between scrapes. A
// client has 2 s and 8 KiB to ask, and cannot keep others waiting (http_port.h). Thread-safe.
class MetricsEndpoint {
 public:
  // Called on that thread.
  using Collect = std::function<void(MetricFamilies&)>;

  // kInvalidArgument: `listen` is not HOST:PORT.
  static absl::Status CheckAddress(absl::string_view listen);
  // `listen` is HOST:PORT; port 0 takes a free one.
  // kInvalidArgument: no such form; kUnavailable: the address cannot be had; kResourceExhausted: a
  // thread could not be started.
  static absl::StatusOr<std::unique_ptr<MetricsEndpoint>> Start(absl::string_view listen,
                                                                Collect collect);
  // Returns when no call of `collect` can follow.
  ~MetricsEndpoint();

  // Where it listens: "127.0.0.1:41234" for "127.0.0.1:0".
  const std::string& address() const { return address_; }

 private:
  MetricsEndpoint(std::unique_ptr<HttpPort> port, std::string address);

  const std::unique_ptr<HttpPort> port_;
  const std::string address_;
};

}  // namespace penstock

#endif  // PENSTOCK_METRICS_METRICS_ENDPOINT_H_
