// Ranks on CPUs, over TCP, by the system's sockets alone: for programs that have no Gloo.
#ifndef PENSTOCK_TRAINER_COMM_SOCKET_COMMUNICATOR_H_
#define PENSTOCK_TRAINER_COMM_SOCKET_COMMUNICATOR_H_

#include <memory>

#include "absl/status/statusor.h"
#include "trainer/comm/tcp_way.h"

namespace penstock {

inline constexpr char kSocketsName[] = "sockets";

// As TcpWay::connect. Each message travels behind its size: one of another size than is expected
// ends the communicator with kInternal.
absl::StatusOr<std::unique_ptr<Communicator>> ConnectSockets(const RankInfo& info,
                                                             StoreClient& store,
                                                             const TcpOptions& options);

}  // namespace penstock

#endif  // PENSTOCK_TRAINER_COMM_SOCKET_COMMUNICATOR_H_
