#include "client/loader/transports.h"

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/process/process_limits.h"
#include "base/status.h"
#include "client/transport/bundle/bundle_transport.h"
#include "client/transport/grpc/grpc_transport.h"
#include "client/transport/grpc/manifest_call.h"

namespace penstock {

absl::StatusOr<std::unique_ptr<Transport>> MakeNetworkTransport(const std::string& address,
                                                                const NetworkOptions& network) {
  PENSTOCK_RETURN_IF_ERROR(CheckLimitsForGrpc());
  PENSTOCK_RETURN_IF_ERROR(CheckNetworkOptions(address, network));
  if (network.connections > NetworkOptions::kMaxConnections) {
    return absl::InvalidArgumentError(absl::StrCat(network.connections,
                                                   " connections to a server exceed the limit of ",
                                                   NetworkOptions::kMaxConnections));
  }
  if (network.connections == 1) return MakeGrpcTransport(address, network);
  std::vector<std::unique_ptr<Transport>> ways;
  while (ways.size() < network.most_connections()) {
    ways.push_back(MakeGrpcTransport(address, network));
  }
  const bool grows = network.connections == 0;
  return grows ? MakeGrowingTransport(std::move(ways), {}) : MakeBundleTransport(std::move(ways));
}

absl::StatusOr<std::string> AskForManifest(const std::string& address,
                                           const NetworkOptions& network, const std::string& path,
                                           const ManifestLimits& limits) {
  PENSTOCK_RETURN_IF_ERROR(CheckLimitsForGrpc());
  return CallForManifest(address, network, path, limits);
}

}  // namespace penstock
