#include "metrics/metrics_endpoint.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "base/number_range.h"
#include "base/status.h"
#include "metrics/http_answer.h"
#include "metrics/http_port.h"
#include "prometheus/text_serializer.h"

namespace penstock {
namespace {

std::string WithoutBrackets(absl::string_view host) {
  if (absl::ConsumePrefix(&host, "[")) absl::ConsumeSuffix(&host, "]");
  return std::string(host);
}

}  // namespace

std::string MetricsPage(const std::function<void(MetricFamilies&)>& collect) {
  MetricFamilies families;
  collect(families);
  return prometheus::TextSerializer().Serialize(std::move(families).Take());
}

absl::Status MetricsEndpoint::CheckAddress(absl::string_view listen) {
  const size_t colon = std::min(listen.rfind(':'), listen.size());
  const absl::string_view host = listen.substr(0, colon);
  const bool is_bare_ipv6 = absl::StrContains(host, ':') && host[0] != '[';
  const bool has_port = colon < listen.size() && IsPort(listen.substr(colon + 1));
  const bool is_one = !absl::StrContains(listen, ',');
  if (!host.empty() && has_port && is_one && !is_bare_ipv6) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "\"", listen,
      "\" is not an address for metrics; give HOST:PORT, with an IPv6 address in brackets"));
}

absl::StatusOr<std::unique_ptr<MetricsEndpoint>> MetricsEndpoint::Start(absl::string_view listen,
                                                                        Collect collect) {
  PENSTOCK_RETURN_IF_ERROR(CheckAddress(listen));
  const size_t colon = listen.rfind(':');
  const absl::string_view host = listen.substr(0, colon);
  absl::StatusOr<std::unique_ptr<HttpPort>> port =
      HttpPort::Listen(WithoutBrackets(host), std::string(listen.substr(colon + 1)),
                       [collect = std::move(collect)](absl::string_view request) {
                         return HttpAnswer(request, [&collect] { return MetricsPage(collect); });
                       });
  if (!port.ok()) {
    return Annotate(port.status(), absl::StrCat("cannot listen on ", listen, " for metrics"));
  }
  const std::string address = absl::StrCat(host, ":", (*port)->port());
  return std::unique_ptr<MetricsEndpoint>(new MetricsEndpoint(*std::move(port), address));
}

MetricsEndpoint::MetricsEndpoint(std::unique_ptr<HttpPort> port, std::string address)
    : port_(std::move(port)), address_(std::move(address)) {}

MetricsEndpoint::~MetricsEndpoint() = default;

}  // namespace penstock
