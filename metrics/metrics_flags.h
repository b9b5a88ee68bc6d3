// The flags --metrics-port and --metrics-listen, the same for every program.
#ifndef PENSTOCK_METRICS_METRICS_FLAGS_H_
#define PENSTOCK_METRICS_METRICS_FLAGS_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "metrics/metrics_endpoint.h"

namespace CLI {
class App;
}

namespace penstock {

struct MetricsFlags {
  std::string port = "off";
  std::string listen;
  // Added to a port that is not 0, so that several processes of one program can run on one machine.
  uint32_t offset = 0;

  // Returns kInvalidArgument if a flag is wrong. The message names the flag.
  absl::Status Validate() const;
  // Returns HOST:PORT; empty if metrics are off. REQUIRES: Validate() is OK.
  std::string address() const;
};

// `flags` must outlive `command`. Sets the group of the options that are added next.
void AddMetricsFlags(CLI::App& command, MetricsFlags& flags);

// Returns null if the flags turn metrics off. Errors are those of Validate() and
// MetricsEndpoint::Start(), and name the flag.
absl::StatusOr<std::unique_ptr<MetricsEndpoint>> StartMetrics(const MetricsFlags& flags,
                                                              MetricsEndpoint::Collect collect);

}  // namespace penstock

#endif  // PENSTOCK_METRICS_METRICS_FLAGS_H_
