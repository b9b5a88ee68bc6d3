// Fetches a manifest from beneath a server's root.
#ifndef PENSTOCK_CLIENT_TRANSPORT_GRPC_MANIFEST_CALL_H_
#define PENSTOCK_CLIENT_TRANSPORT_GRPC_MANIFEST_CALL_H_

#include <string>

#include "absl/status/statusor.h"
#include "client/transport/manifest_limits.h"
#include "client/transport/network_options.h"

namespace penstock {

// Returns the bytes of the file at `path`, unchecked, over a connection of its own. `address` is
// HOST:PORT. Blocks. Every message starts with the address.
// kUnavailable: nobody listens, or the server ended or was silent for too long.
// kOutOfRange: the file has more than limits.max_bytes.
// kDataLoss: the file has more bytes than limits.total() said.
// Otherwise an error of limits.total() or limits.check(), the server's status, or an error of a
// stream (grpc_transport.h).
absl::StatusOr<std::string> CallForManifest(const std::string& address,
                                            const NetworkOptions& network, const std::string& path,
                                            const ManifestLimits& limits);

}  // namespace penstock

#endif  // PENSTOCK_CLIENT_TRANSPORT_GRPC_MANIFEST_CALL_H_
