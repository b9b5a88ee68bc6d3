// Why a connection that gRPC could not use cannot be used.
#ifndef PENSTOCK_CLIENT_TRANSPORT_GRPC_CONNECTION_PROBE_H_
#define PENSTOCK_CLIENT_TRANSPORT_GRPC_CONNECTION_PROBE_H_

#include <optional>
#include <stop_token>
#include <string>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "client/transport/network_options.h"

namespace penstock {

// Of a server that takes a connection and then does nothing, in words for a person.
inline constexpr absl::string_view kSilentServer =
    "it accepts connections and says nothing: it is stopped, overloaded, or no --listen port";

struct ProbedServer {
  // Numeric HOST:PORT; a name is not looked up again, and such a probe finds nothing.
  std::string address = {};
  // The name that its certificate must have.
  std::string host = {};
};

// Makes one connection and one TLS handshake of its own, for gRPC 1.51 tells of neither more than
// "Ssl handshake failed" or "Socket closed", and sends the peer no alert that would tell it either.
// Without `tls` it speaks plaintext first, and TLS only if that is refused.
// The cause in words for a person and what to do about it; empty when this probe found none.
// Blocks for at most `timeout`, or until `stop`.
std::string ProbeConnection(const ProbedServer& server, const std::optional<TlsOptions>& tls,
                            absl::Duration timeout, std::stop_token stop);

// Why a server that gRPC 1.51 could not reach in time does not answer, where gRPC says no more than
// "tcp handshaker shutdown". Empty: its address is a name. Blocks for at most `timeout`.
std::string ProbeSilence(const ProbedServer& server, absl::Duration timeout);

}  // namespace penstock

#endif  // PENSTOCK_CLIENT_TRANSPORT_GRPC_CONNECTION_PROBE_H_
