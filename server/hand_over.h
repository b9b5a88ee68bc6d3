// Connections from our Listener to gRPC.
#ifndef PENSTOCK_SERVER_HAND_OVER_H_
#define PENSTOCK_SERVER_HAND_OVER_H_

#include <memory>

#include "server/guard/connection_guard.h"
#include "server/listener.h"

namespace grpc {
class ServerBuilder;
class ServerCredentials;
}  // namespace grpc

namespace penstock {

// To the server that `builder` will start, in the place of a port of its own, through the guard.
// The server must have started before the first call.
Listener::HandOver HandOverTo(grpc::ServerBuilder& builder,
                              const std::shared_ptr<grpc::ServerCredentials>& credentials,
                              const GuardedPort& port);

}  // namespace penstock

#endif  // PENSTOCK_SERVER_HAND_OVER_H_
