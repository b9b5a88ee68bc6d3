// What gRPC logs, in our log.
#ifndef PENSTOCK_SERVER_GRPC_LOG_H_
#define PENSTOCK_SERVER_GRPC_LOG_H_

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"

namespace penstock {

// From now on gRPC's errors are lines of spdlog, and a TLS handshake that a client failed is a
// warning that names the cause, and counts as such; of each kind at most one line every 10 s. For
// the whole process.
void SendGrpcLogToSpdlog();

// The cause of a failed handshake in gRPC's words, in words for an operator. Empty: the client went
// away without one.
std::string ExplainHandshake(absl::string_view message);

// How many connections came to nothing because client and server do not agree on TLS.
// Of the whole process: gRPC 1.51 tells of a failed handshake in its log alone, which knows of no
// server. A client that spoke plaintext to a TLS port, or TLS to a plain one, counts as well.
// Thread-safe.
void CountFailedHandshake();
uint64_t NumFailedHandshakes();

}  // namespace penstock

#endif  // PENSTOCK_SERVER_GRPC_LOG_H_
