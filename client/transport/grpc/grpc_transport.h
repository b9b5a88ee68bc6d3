// Reaches a server over the network.
#ifndef PENSTOCK_CLIENT_TRANSPORT_GRPC_GRPC_TRANSPORT_H_
#define PENSTOCK_CLIENT_TRANSPORT_GRPC_GRPC_TRANSPORT_H_

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "client/transport/network_options.h"
#include "client/transport/transport.h"

namespace penstock {

// Makes a transport to `address`, which is HOST:PORT. Each transport has its own channel, so that
// servers never share a connection. It connects only in Connect(). Streams may outlive the
// transport.
//
// A stream breaks with
//   kUnavailable         nobody listens, or the server ended or vanished (noticed within 20 s)
//   kFailedPrecondition  the peer is no penstock-server, or speaks another protocol version
//   kUnauthenticated     the token is missing or wrong, or would travel in plaintext
//   the server's status, when it ended the stream because of something this client did
// Every message starts with the address. If TLS is the cause, on either side, the message says what
// is wrong and what to do. Finding that out may take a second connection and up to 3 s.
std::unique_ptr<Transport> MakeGrpcTransport(std::string address, NetworkOptions options = {});

// Checks what can be checked before a connection is made. Fails as LoadPemFiles() and
// ReadTokenFile() do. kUnauthenticated: the token would travel in plaintext.
absl::Status CheckNetworkOptions(const std::string& address, const NetworkOptions& options);

}  // namespace penstock

#endif  // PENSTOCK_CLIENT_TRANSPORT_GRPC_GRPC_TRANSPORT_H_
