// A server reached over the network.
#ifndef PENSTOCK_CLIENT_TRANSPORT_GRPC_GRPC_TRANSPORT_H_
#define PENSTOCK_CLIENT_TRANSPORT_GRPC_GRPC_TRANSPORT_H_

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "client/transport/network_options.h"
#include "client/transport/transport.h"

namespace penstock {

// `address` is HOST:PORT. Each transport has a channel of its own, so that one server's connection
// is never another's. Nothing is connected before Connect(). Streams outlive the transport.
//
// A stream breaks with
//   kUnavailable         nobody listens, the server ended or vanished (noticed within 20 s)
//   kFailedPrecondition  the peer is no penstock-server, or of another protocol version
//   what the server said, when it ended the stream because of something this client did
//   kUnauthenticated     a missing or wrong token, or one that would travel in plaintext
// Every message starts with the address. Where TLS is the cause, on either side, the message says
// what is wrong with it and what to do, which may take a second connection and up to 3 s.
std::unique_ptr<Transport> MakeGrpcTransport(std::string address, NetworkOptions options = {});

// What can be told before anything is connected: a file that is missing, unreadable or not PEM, a
// key that is not the certificate's, a token that would travel in plaintext.
absl::Status CheckNetworkOptions(const std::string& address, const NetworkOptions& options);

}  // namespace penstock

#endif  // PENSTOCK_CLIENT_TRANSPORT_GRPC_GRPC_TRANSPORT_H_
