#include "client/loader/transports.h"

#include <algorithm>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "client/transport/local/local_transport.h"
#include "records/base/status.h"

namespace penstock {
namespace {

constexpr absl::string_view kLocal = "local:";

absl::Status CheckAddress(absl::string_view address) {
  const size_t colon = address.rfind(':');
  uint32_t port = 0;
  if (colon != absl::string_view::npos && colon > 0 &&
      absl::SimpleAtoi(address.substr(colon + 1), &port) && port > 0 && port < 65536) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      absl::StrCat("servers: '", address, "' is neither local: nor HOST:PORT"));
}

}  // namespace

absl::StatusOr<std::vector<std::string>> ParseServers(absl::string_view servers) {
  std::vector<std::string> addresses;
  for (absl::string_view part : absl::StrSplit(servers, ',')) {
    const absl::string_view address = absl::StripAsciiWhitespace(part);
    if (address == kLocal && servers == part) return std::vector<std::string>{std::string(kLocal)};
    if (address == kLocal) {
      return absl::InvalidArgumentError("servers: local: cannot stand among others");
    }
    PENSTOCK_RETURN_IF_ERROR(CheckAddress(address));
    if (std::find(addresses.begin(), addresses.end(), address) != addresses.end()) {
      return absl::InvalidArgumentError(absl::StrCat("servers: ", address, " is named twice"));
    }
    addresses.emplace_back(address);
  }
  return addresses;
}

absl::StatusOr<std::vector<std::unique_ptr<Transport>>> MakeTransports(
    const std::vector<std::string>& addresses, const EngineOptions& local,
    const NetworkOptions& network) {
  std::vector<std::unique_ptr<Transport>> transports;
  for (const std::string& address : addresses) {
    PENSTOCK_ASSIGN_OR_RETURN(
        std::unique_ptr<Transport> transport,
        address == kLocal ? MakeLocalTransport(local) : MakeNetworkTransport(address, network));
    transports.push_back(std::move(transport));
  }
  return transports;
}

}  // namespace penstock
