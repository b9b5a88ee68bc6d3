#include "metrics/metrics_endpoint.h"

#include <algorithm>
#include <exception>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "prometheus/collectable.h"
#include "prometheus/exposer.h"
#include "records/base/number_range.h"
#include "records/base/status.h"

namespace penstock {
namespace {

// A connection that says nothing holds a thread until the time-out. Nor may one that was answered:
// a scraper comes again in seconds.
std::vector<std::string> HttpOptions(absl::string_view listen) {
  return {"listening_ports",    std::string(listen),
          "num_threads",        absl::StrCat(MetricsEndpoint::kThreads),
          "request_timeout_ms", "2000",
          "enable_keep_alive",  "no"};
}

// What the exposer's exception says is no more than that it failed.
absl::Status ExplainFailure(absl::string_view listen) {
  const absl::string_view ipv6 =
      listen[0] == '[' ? "; or civetweb, which serves them, has no IPv6, as Debian's: give an IPv4 "
                         "address, e.g. 0.0.0.0:9464 for all"
                       : "";
  return absl::UnavailableError(absl::StrCat("cannot listen on ", listen,
                                             " for metrics: the port is in use, or the address ",
                                             "is not this machine's", ipv6));
}

class CollectingFunction final : public prometheus::Collectable {
 public:
  explicit CollectingFunction(MetricsEndpoint::Collect collect) : collect_(std::move(collect)) {}

  std::vector<prometheus::MetricFamily> Collect() const override {
    MetricFamilies families;
    collect_(families);
    return std::move(families).Take();
  }

 private:
  const MetricsEndpoint::Collect collect_;
};

}  // namespace

absl::Status MetricsEndpoint::CheckAddress(absl::string_view listen) {
  const size_t colon = std::min(listen.rfind(':'), listen.size());
  const absl::string_view host = listen.substr(0, colon);
  const bool is_bare_ipv6 = absl::StrContains(host, ':') && host[0] != '[';
  const bool has_port = colon < listen.size() && IsPort(listen.substr(colon + 1));
  const bool is_one = !absl::StrContains(listen, ',');
  if (!host.empty() && has_port && is_one && !is_bare_ipv6) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("\"", listen, "\" is no address for metrics; give HOST:PORT"));
}

absl::StatusOr<std::unique_ptr<MetricsEndpoint>> MetricsEndpoint::Start(absl::string_view listen,
                                                                        Collect collect) {
  PENSTOCK_RETURN_IF_ERROR(CheckAddress(listen));
  std::unique_ptr<MetricsEndpoint> endpoint(new MetricsEndpoint());
  endpoint->collectable_ = std::make_shared<CollectingFunction>(std::move(collect));
  try {
    endpoint->exposer_ = std::make_unique<prometheus::Exposer>(HttpOptions(listen));
    endpoint->exposer_->RegisterCollectable(endpoint->collectable_);
    endpoint->address_ = absl::StrCat(listen.substr(0, listen.rfind(':')), ":",
                                      endpoint->exposer_->GetListeningPorts().at(0));
  } catch (const std::exception&) {
    return ExplainFailure(listen);
  }
  return endpoint;
}

MetricsEndpoint::~MetricsEndpoint() = default;

}  // namespace penstock
