// Connects ranks on CPUs over TCP, with Gloo.
#ifndef PENSTOCK_TRAINER_COMM_GLOO_COMMUNICATOR_H_
#define PENSTOCK_TRAINER_COMM_GLOO_COMMUNICATOR_H_

#include <memory>

#include "absl/status/statusor.h"
#include "trainer/comm/tcp_way.h"

namespace penstock {

// Same contract as TcpWay::connect.
absl::StatusOr<std::unique_ptr<Communicator>> ConnectGloo(const RankInfo& info, StoreClient& store,
                                                          const TcpOptions& options);

}  // namespace penstock

#endif  // PENSTOCK_TRAINER_COMM_GLOO_COMMUNICATOR_H_
