// Why a stream ended, told to the client.
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

// Never OK. A server that ended, was cut off or cancelled the call is kUnavailable: the same
// request may succeed elsewhere. A peer that does not know our method is kFailedPrecondition.
absl::Status BrokenStatus(absl::string_view address, const grpc::Status& status);

// `broken` as BrokenStatus() made it; where `cause` is not empty, with that as its message.
absl::Status WithCause(absl::string_view address, const absl::Status& broken,
                       absl::string_view cause);

// A connection that never came to a Hello and whose end may have to do with TLS, on either side.
bool MayBeTls(const grpc::Status& status);
// Whom to probe about it: the address that gRPC names in `status`, or `address` if it names none.
ProbedServer ProbedServerOf(absl::string_view address, const std::optional<TlsOptions>& tls,
                            const grpc::Status& status);

// Why a single call to a server failed, told to the client.
// `status`, of a call that failed, as BrokenStatus() says it; in words for a person where gRPC has
// none, which may take a second connection and up to 2 s.
absl::Status CallStatus(const std::string& address, const std::optional<TlsOptions>& tls,
                        const grpc::Status& status);

}  // namespace penstock

#endif  // PENSTOCK_CLIENT_TRANSPORT_GRPC_BROKEN_STATUS_H_
