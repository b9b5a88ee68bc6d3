#include "metrics/metrics_endpoint.h"

#include <exception>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "prometheus/collectable.h"
#include "prometheus/exposer.h"
#include "records/base/number_range.h"
#include "records/base/status.h"

namespace penstock {
namespace {

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
  const size_t colon = listen.rfind(':');
  if (colon != absl::string_view::npos && colon != 0 && IsPort(listen.substr(colon + 1))) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      absl::StrCat("\"", listen, "\" is no address for metrics; give HOST:PORT"));
}

absl::StatusOr<std::unique_ptr<MetricsEndpoint>> MetricsEndpoint::Start(absl::string_view listen,
                                                                        Collect collect) {
  PENSTOCK_RETURN_IF_ERROR(CheckAddress(listen));
  std::unique_ptr<MetricsEndpoint> endpoint(new MetricsEndpoint());
  endpoint->collectable_ = std::make_shared<CollectingFunction>(std::move(collect));
  try {
    endpoint->exposer_ = std::make_unique<prometheus::Exposer>(std::string(listen));
    endpoint->exposer_->RegisterCollectable(endpoint->collectable_);
    endpoint->address_ = absl::StrCat(listen.substr(0, listen.rfind(':')), ":",
                                      endpoint->exposer_->GetListeningPorts().at(0));
  } catch (const std::exception&) {  // Its text says no more than that it failed.
    return absl::UnavailableError(
        absl::StrCat("cannot listen on ", listen,
                     " for metrics: the port is in use, or the address is not this machine's"));
  }
  return endpoint;
}

MetricsEndpoint::~MetricsEndpoint() = default;

}  // namespace penstock
