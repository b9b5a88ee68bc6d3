// Opens a loader with transports that the caller provides. For tests that replace them.
#ifndef PENSTOCK_CLIENT_LOADER_OPEN_WITH_TRANSPORTS_H_
#define PENSTOCK_CLIENT_LOADER_OPEN_WITH_TRANSPORTS_H_

#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "client/loader/loader.h"
#include "client/loader/transports.h"
#include "client/servers/server_source.h"
#include "client/transport/transport.h"

namespace penstock {

// Like Loader::Open(), but ignores options.servers and the options of "local:". The addresses of
// the transports must differ.
absl::StatusOr<std::unique_ptr<Loader>> OpenWithTransports(
    LoaderOptions options, std::vector<std::unique_ptr<Transport>> transports);

// Like OpenWithTransports(), with servers that come and go. `factory` makes the transport to each.
absl::StatusOr<std::unique_ptr<Loader>> OpenWithSource(LoaderOptions options,
                                                       TransportFactory factory,
                                                       std::unique_ptr<ServerSource> source);

}  // namespace penstock

#endif  // PENSTOCK_CLIENT_LOADER_OPEN_WITH_TRANSPORTS_H_
