// Makes transports to servers from what the user writes.
#ifndef PENSTOCK_CLIENT_LOADER_TRANSPORTS_H_
#define PENSTOCK_CLIENT_LOADER_TRANSPORTS_H_

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "client/transport/manifest_limits.h"
#include "client/transport/network_options.h"
#include "client/transport/transport.h"
#include "records/engine/engine_options.h"

namespace penstock {

// Makes the transport to a server: "HOST:PORT" or "local:".
using TransportFactory =
    std::function<absl::StatusOr<std::unique_ptr<Transport>>(const std::string& address)>;

// `local` is used for "local:", `network` for all other addresses.
TransportFactory MakeTransportFactory(const EngineOptions& local, const NetworkOptions& network);

// Makes a transport over the network. Fails as CheckNetworkOptions() and CheckLimitsForGrpc() do.
// kInvalidArgument also for too many connections. kUnimplemented: this build has no gRPC.
absl::StatusOr<std::unique_ptr<Transport>> MakeNetworkTransport(const std::string& address,
                                                                const NetworkOptions& network);

// Returns the manifest that a server has at `path` beneath its root. Fails as CallForManifest()
// does. kUnimplemented: this build has no gRPC.
absl::StatusOr<std::string> AskForManifest(const std::string& address,
                                           const NetworkOptions& network, const std::string& path,
                                           const ManifestLimits& limits);

}  // namespace penstock

#endif  // PENSTOCK_CLIENT_LOADER_TRANSPORTS_H_
