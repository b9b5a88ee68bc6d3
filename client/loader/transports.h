// From what a user writes to ways to servers.
#ifndef PENSTOCK_CLIENT_LOADER_TRANSPORTS_H_
#define PENSTOCK_CLIENT_LOADER_TRANSPORTS_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "client/transport/network_options.h"
#include "client/transport/transport.h"
#include "records/engine/engine_options.h"

namespace penstock {

// "local:" alone gives {"local:"}; "HOST:PORT,HOST:PORT" its addresses. kInvalidArgument: empty,
// an address without a port, one that is named twice, or local: among others.
absl::StatusOr<std::vector<std::string>> ParseServers(absl::string_view servers);

// `local` is for "local:", `network` for all others.
absl::StatusOr<std::vector<std::unique_ptr<Transport>>> MakeTransports(
    const std::vector<std::string>& addresses, const EngineOptions& local,
    const NetworkOptions& network = {});

// Over the network; the errors of MakeGrpcTransport(). kUnimplemented: this build has no gRPC.
absl::StatusOr<std::unique_ptr<Transport>> MakeNetworkTransport(const std::string& address,
                                                                const NetworkOptions& network);

}  // namespace penstock

#endif  // PENSTOCK_CLIENT_LOADER_TRANSPORTS_H_
