// Finds out why gRPC could not use a connection.
#ifndef PENSTOCK_CLIENT_TRANSPORT_GRPC_CONNECTION_PROBE_H_
#define PENSTOCK_CLIENT_TRANSPORT_GRPC_CONNECTION_PROBE_H_

#include <optional>
#include <stop_token>
#include <string>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "client/transport/network_options.h"

namespace penstock {

// The message for a server that accepts a connection and then does nothing.
inline constexpr absl::string_view kSilentServer =
    "the peer accepts connections but sends nothing: the server is stopped or overloaded, or this "
    "is not its --listen port";

struct ProbedServer {
  // HOST:PORT with a numeric host. The probe finds nothing for a name, because it does not resolve
  // names again.
  std::string address = {};
  // The name that the server's certificate must have.
  std::string host = {};
};

// Makes one connection and one TLS handshake of its own, because gRPC 1.51 says no more about them
// than "Ssl handshake failed" or "Socket closed". gRPC also sends the peer no alert that would tell
// it more. Without `tls` it speaks plaintext first, and TLS only if plaintext is refused.
//
// Returns the cause and what to do about it, as a message for the user; empty if the probe found
// none. Blocks for at most `timeout`, or until `stop` is requested.
std::string ProbeConnection(const ProbedServer& server, const std::optional<TlsOptions>& tls,
                            absl::Duration timeout, std::stop_token stop);

// Returns why a server that gRPC 1.51 could not reach in time does not answer; gRPC itself says
// only "tcp handshaker shutdown". Returns an empty string if the server's address is a name. Blocks
// for at most `timeout`.
std::string ProbeSilence(const ProbedServer& server, absl::Duration timeout);

}  // namespace penstock

#endif  // PENSTOCK_CLIENT_TRANSPORT_GRPC_CONNECTION_PROBE_H_
