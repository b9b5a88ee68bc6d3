// What a connection may take of this process, whoever speaks on it.
#ifndef PENSTOCK_SERVER_CONNECTION_LIMITS_H_
#define PENSTOCK_SERVER_CONNECTION_LIMITS_H_

namespace grpc {
class ServerBuilder;
}

namespace penstock {

// Calls that are open at once on one connection. Ours use one; a proxy, or a probe, may use more.
// A client that has been told so and opens more loses the connection.
constexpr int kMaxCallsPerConnection = 32;

// For main(), while there is one thread and gRPC has not started. gRPC takes memory for all that it
// has read of a connection before anything of ours can end the connection.
void ReadLittleAtATime();

// For every port: whoever is refused takes memory too, until it has read that.
void LimitConnections(grpc::ServerBuilder& builder);

}  // namespace penstock

#endif  // PENSTOCK_SERVER_CONNECTION_LIMITS_H_
