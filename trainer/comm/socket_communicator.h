// Connects ranks on CPUs over TCP with the system's sockets alone, for programs without Gloo.
#ifndef PENSTOCK_TRAINER_COMM_SOCKET_COMMUNICATOR_H_
#define PENSTOCK_TRAINER_COMM_SOCKET_COMMUNICATOR_H_

#include <memory>

#include "absl/status/statusor.h"
#include "trainer/comm/tcp_way.h"

namespace penstock {

inline constexpr char kSocketsName[] = "sockets";

// Same contract as TcpWay::connect. Each message follows its size. A message of another size than
// expected ends the communicator with kInternal.
absl::StatusOr<std::unique_ptr<Communicator>> ConnectSockets(const RankInfo& info,
                                                             StoreClient& store,
                                                             const TcpOptions& options);

}  // namespace penstock

#endif  // PENSTOCK_TRAINER_COMM_SOCKET_COMMUNICATOR_H_
