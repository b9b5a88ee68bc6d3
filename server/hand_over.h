// Passes connections from our Listener to gRPC.
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

// Returns a function that passes connections, through the guard, to the server that `builder` will
// start. It replaces a port of gRPC's own. The server must have started before the first call.
Listener::HandOver HandOverTo(grpc::ServerBuilder& builder,
                              const std::shared_ptr<grpc::ServerCredentials>& credentials,
                              const GuardedPort& port);

}  // namespace penstock

#endif  // PENSTOCK_SERVER_HAND_OVER_H_
