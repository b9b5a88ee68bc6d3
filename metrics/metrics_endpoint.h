// GET /metrics, for Prometheus.
#ifndef PENSTOCK_METRICS_METRICS_ENDPOINT_H_
#define PENSTOCK_METRICS_METRICS_ENDPOINT_H_

#include <functional>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "metrics/metric_families.h"

namespace prometheus {
class Collectable;
class Exposer;
}  // namespace prometheus

namespace penstock {

// Plain HTTP on threads of its own; a scrape asks `collect` and costs nothing between scrapes. Who
// connects and asks nothing is let go after 2 s. Thread-safe.
class MetricsEndpoint {
 public:
  static constexpr int kThreads = 8;

  // Called on any of its threads, on all at once at most; must be thread-safe.
  using Collect = std::function<void(MetricFamilies&)>;

  // kInvalidArgument: `listen` is not HOST:PORT.
  static absl::Status CheckAddress(absl::string_view listen);
  // `listen` is HOST:PORT; port 0 takes a free one.
  // kInvalidArgument: no such form; kUnavailable: the address cannot be had.
  static absl::StatusOr<std::unique_ptr<MetricsEndpoint>> Start(absl::string_view listen,
                                                                Collect collect);
  // Returns when no call of `collect` can follow.
  ~MetricsEndpoint();

  // Where it listens: "127.0.0.1:41234" for "127.0.0.1:0".
  const std::string& address() const { return address_; }

 private:
  MetricsEndpoint() = default;

  std::shared_ptr<prometheus::Collectable> collectable_;  // The exposer keeps a weak_ptr to it.
  std::unique_ptr<prometheus::Exposer> exposer_;
  std::string address_;
};

}  // namespace penstock

#endif  // PENSTOCK_METRICS_METRICS_ENDPOINT_H_
