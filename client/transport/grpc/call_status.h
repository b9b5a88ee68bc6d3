// Why a single call to a server failed, told to the client.
#ifndef PENSTOCK_CLIENT_TRANSPORT_GRPC_CALL_STATUS_H_
#define PENSTOCK_CLIENT_TRANSPORT_GRPC_CALL_STATUS_H_

#include <optional>
#include <string>

#include "absl/status/status.h"
#include "client/transport/network_options.h"
#include "grpcpp/support/status.h"

namespace penstock {

// `status`, of a call that failed, as BrokenStatus() says it; in words for a person where gRPC has
// none, which may take a second connection and up to 2 s.
absl::Status CallStatus(const std::string& address, const std::optional<TlsOptions>& tls,
                        const grpc::Status& status);

}  // namespace penstock

#endif  // PENSTOCK_CLIENT_TRANSPORT_GRPC_CALL_STATUS_H_
