// A loader over transports of the caller's: for tests that put something else in their place.
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

// As Loader::Open(), but options.servers and what concerns "local:" are ignored. The addresses of
// the transports differ.
absl::StatusOr<std::unique_ptr<Loader>> OpenWithTransports(
    LoaderOptions options, std::vector<std::unique_ptr<Transport>> transports);

// The same with servers that come and go: `factory` makes the way to each.
absl::StatusOr<std::unique_ptr<Loader>> OpenWithSource(LoaderOptions options,
                                                       TransportFactory factory,
                                                       std::unique_ptr<ServerSource> source);

}  // namespace penstock

#endif  // PENSTOCK_CLIENT_LOADER_OPEN_WITH_TRANSPORTS_H_
