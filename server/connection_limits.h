// Limits what a connection may use of this process, whoever connects.
#ifndef PENSTOCK_SERVER_CONNECTION_LIMITS_H_
#define PENSTOCK_SERVER_CONNECTION_LIMITS_H_

namespace grpc {
class ServerBuilder;
}

namespace penstock {

// Maximum number of calls that may be open at once on one connection. Our clients use one; a proxy
// or a probe may use more. A client that was told this limit and opens more loses the connection.
constexpr int kMaxCallsPerConnection = 32;

// Call it in main(), while there is one thread and gRPC has not started. gRPC allocates memory for
// all that it has read from a connection before any code of ours can end the connection.
void ReadLittleAtATime();

// Applies to every port, because a connection that is refused also uses memory until it has read
// the refusal.
void LimitConnections(grpc::ServerBuilder& builder);

}  // namespace penstock

#endif  // PENSTOCK_SERVER_CONNECTION_LIMITS_H_
