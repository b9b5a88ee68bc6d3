// Sends gRPC's log to our log.
#ifndef PENSTOCK_SERVER_GRPC_LOG_H_
#define PENSTOCK_SERVER_GRPC_LOG_H_

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"

namespace penstock {

// Sends gRPC's errors to the server's log, for the whole process. A TLS handshake that fails
// because of the client becomes a warning that names the cause, and is counted. At most one line of
// each kind is written every 10 s.
void SendGrpcLogToServerLog();

// Explains gRPC's text about a failed handshake to an operator. Returns an empty string if the
// client closed the connection without giving a reason.
std::string ExplainHandshake(absl::string_view message);

// Counts the connections that failed because client and server do not agree on TLS, over the whole
// process: gRPC 1.51 reports a failed handshake only in its log, which does not name the server. A
// client that spoke plaintext to a TLS port, or TLS to a plaintext port, counts too. Thread-safe.
void CountFailedHandshake();
uint64_t NumFailedHandshakes();

}  // namespace penstock

#endif  // PENSTOCK_SERVER_GRPC_LOG_H_
