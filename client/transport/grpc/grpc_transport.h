// A server reached over the network.
#ifndef PENSTOCK_CLIENT_TRANSPORT_GRPC_GRPC_TRANSPORT_H_
#define PENSTOCK_CLIENT_TRANSPORT_GRPC_GRPC_TRANSPORT_H_

#include <memory>
#include <string>

#include "client/transport/transport.h"

namespace penstock {

// `address` is HOST:PORT. Each transport has a channel of its own, so that one server's connection
// is never another's. Nothing is connected before Connect(). Streams outlive the transport.
//
// A stream breaks with
//   kUnavailable         nobody listens, the server ended or vanished (noticed within 20 s)
//   kFailedPrecondition  the peer is no penstock-server, or of another protocol version
//   what the server said, when it ended the stream because of something this client did
// Every message starts with the address.
std::unique_ptr<Transport> MakeGrpcTransport(std::string address);

}  // namespace penstock

#endif  // PENSTOCK_CLIENT_TRANSPORT_GRPC_GRPC_TRANSPORT_H_
