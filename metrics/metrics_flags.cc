#include "metrics/metrics_flags.h"

#include <utility>

#include "CLI/CLI.hpp"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/number_range.h"
#include "base/status.h"

namespace penstock {

namespace {

// Returns 0 if `address` is empty or asks for a free port.
uint32_t PortOf(absl::string_view address) {
  uint32_t port = 0;
  const size_t colon = address.rfind(':');
  return absl::SimpleAtoi(address.substr(colon + 1), &port) ? port : 0;
}

}  // namespace

absl::Status MetricsFlags::Validate() const {
  if (port != "off" && !IsPort(port)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "--metrics-port: \"", port, "\" is no port; give 0 to 65535 (0: a free one), or off"));
  }
  if (port != "off" && !listen.empty()) {
    return absl::InvalidArgumentError(
        "--metrics-port and --metrics-listen exclude each other; --metrics-port N means "
        "--metrics-listen 127.0.0.1:N");
  }
  if (!listen.empty()) {
    PENSTOCK_RETURN_IF_ERROR(Annotate(MetricsEndpoint::CheckAddress(listen), "--metrics-listen"));
  }
  if (PortOf(address()) <= 65535) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(port == "off" ? "--metrics-listen" : "--metrics-port", ": process ", offset,
                   " of this machine would need port ", PortOf(address()),
                   ", but the highest is 65535; give a lower port"));
}

std::string MetricsFlags::address() const {
  const std::string first = port == "off" ? listen : absl::StrCat("127.0.0.1:", port);
  const uint32_t number = PortOf(first);
  if (number == 0) return first;
  return absl::StrCat(first.substr(0, first.rfind(':') + 1), number + offset);
}

void AddMetricsFlags(CLI::App& command, MetricsFlags& flags) {
  command.option_defaults()->group("Metrics");
  command
      .add_option("--metrics-port", flags.port,
                  "Serve Prometheus metrics on this port of 127.0.0.1; 0: a free port; off: none")
      ->type_name("PORT");
  command
      .add_option("--metrics-listen", flags.listen,
                  "Serve metrics on HOST:PORT, for a Prometheus on another machine; plain HTTP "
                  "without credentials")
      ->type_name("ADDRESS");
}

absl::StatusOr<std::unique_ptr<MetricsEndpoint>> StartMetrics(const MetricsFlags& flags,
                                                              MetricsEndpoint::Collect collect) {
  PENSTOCK_RETURN_IF_ERROR(flags.Validate());
  const std::string address = flags.address();
  if (address.empty()) return nullptr;
  auto endpoint = MetricsEndpoint::Start(address, std::move(collect));
  if (endpoint.ok()) return endpoint;
  return Annotate(endpoint.status(), flags.port == "off" ? "--metrics-listen" : "--metrics-port");
}

}  // namespace penstock
