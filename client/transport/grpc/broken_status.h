// Turns the end of a stream or call into a status for the client.
#ifndef PENSTOCK_CLIENT_TRANSPORT_GRPC_BROKEN_STATUS_H_
#define PENSTOCK_CLIENT_TRANSPORT_GRPC_BROKEN_STATUS_H_

#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "client/transport/grpc/connection_probe.h"
#include "client/transport/network_options.h"
#include "grpcpp/support/status.h"

namespace penstock {

// Returns why a stream ended. Never OK. kUnavailable: the server ended, was cut off, or cancelled
// the call; the same request may succeed elsewhere. kFailedPrecondition: the peer does not know our
// method.
absl::Status BrokenStatus(absl::string_view address, const grpc::Status& status);

// Returns `broken`, from BrokenStatus(), with `cause` as its message unless `cause` is empty.
absl::Status WithCause(absl::string_view address, const absl::Status& broken,
                       absl::string_view cause);

// Whether a connection that ended before its Hello may have failed because of TLS, on either side.
bool MayBeTls(const grpc::Status& status);
// Returns the server to probe about it: the address that gRPC names in `status`, or `address` if it
// names none.
ProbedServer ProbedServerOf(absl::string_view address, const std::optional<TlsOptions>& tls,
                            const grpc::Status& status);

// Returns why a single call failed: BrokenStatus() of its `status`. If gRPC gives no helpful
// reason, this probes the server for one. Blocks for up to 2 s.
absl::Status CallStatus(const std::string& address, const std::optional<TlsOptions>& tls,
                        const grpc::Status& status);

}  // namespace penstock

#endif  // PENSTOCK_CLIENT_TRANSPORT_GRPC_BROKEN_STATUS_H_
