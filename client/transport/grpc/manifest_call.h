// Asks a server for a manifest that lies beneath its root.
#ifndef PENSTOCK_CLIENT_TRANSPORT_GRPC_MANIFEST_CALL_H_
#define PENSTOCK_CLIENT_TRANSPORT_GRPC_MANIFEST_CALL_H_

#include <string>

#include "absl/status/statusor.h"
#include "client/transport/manifest_limits.h"
#include "client/transport/network_options.h"

namespace penstock {

// The bytes of the file at `path`, unchecked, over a connection of its own. `address` is HOST:PORT.
// kUnavailable: nobody listens, the server ended or was silent for too long; kOutOfRange: the file
// has more than limits.max_bytes; kDataLoss: it has more than limits.total() said; what that and
// limits.check() said; what the server said; other errors as of a stream (grpc_transport.h). Every
// message starts with the address.
absl::StatusOr<std::string> CallForManifest(const std::string& address,
                                            const NetworkOptions& network, const std::string& path,
                                            const ManifestLimits& limits);

}  // namespace penstock

#endif  // PENSTOCK_CLIENT_TRANSPORT_GRPC_MANIFEST_CALL_H_
