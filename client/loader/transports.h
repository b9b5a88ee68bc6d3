// From what a user writes to ways to servers.
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

// Makes the way to a server: "HOST:PORT" or "local:".
using TransportFactory =
    std::function<absl::StatusOr<std::unique_ptr<Transport>>(const std::string& address)>;

// `local` is for "local:", `network` for all others.
TransportFactory MakeTransportFactory(const EngineOptions& local, const NetworkOptions& network);

// Over the network; the errors of MakeGrpcTransport(). kUnimplemented: this build has no gRPC.
absl::StatusOr<std::unique_ptr<Transport>> MakeNetworkTransport(const std::string& address,
                                                                const NetworkOptions& network);

// The manifest that a server has at `path` beneath its root; the errors of CallForManifest().
// kUnimplemented: this build has no gRPC.
absl::StatusOr<std::string> AskForManifest(const std::string& address,
                                           const NetworkOptions& network, const std::string& path,
                                           const ManifestLimits& limits);

}  // namespace penstock

#endif  // PENSTOCK_CLIENT_LOADER_TRANSPORTS_H_
