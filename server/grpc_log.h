// What gRPC logs, in our log.
#ifndef PENSTOCK_SERVER_GRPC_LOG_H_
#define PENSTOCK_SERVER_GRPC_LOG_H_

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

}  // namespace penstock

#endif  // PENSTOCK_SERVER_GRPC_LOG_H_
