// How ranks on CPUs are connected over TCP: with Gloo, or, in a build without Gloo, with sockets.
#ifndef PENSTOCK_TRAINER_COMM_TCP_WAY_H_
#define PENSTOCK_TRAINER_COMM_TCP_WAY_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "trainer/comm/communicator.h"
#include "trainer/comm/late_watch.h"
#include "trainer/comm/rank_info.h"
#include "trainer/comm/store_client.h"
#include "trainer/comm/wait_options.h"

namespace penstock {

struct TcpOptions : WaitOptions {
  // Network interface at whose address the other ranks reach this rank. If it is empty, the
  // interface that leads to the rendezvous is used.
  std::string interface = {};
};

struct TcpWay {
  const char* name;  // Name for messages: "Gloo".
  // Connects this rank with every other one. The store must outlive the communicator; a lost rank
  // that the store reports ends any wait at once. kUnavailable: a rank cannot be reached; the
  // message names it if it is known. kDeadlineExceeded: a rank did not come in time.
  absl::StatusOr<std::unique_ptr<Communicator>> (*connect)(const RankInfo&, StoreClient&,
                                                           const TcpOptions&);
};

// ConnectSockets() in a build with PENSTOCK_PORTABLE, else ConnectGloo().
TcpWay TcpWayOfThisBuild();

// kFailedPrecondition: not all ranks use the same way. Other errors are those of `way.connect`.
absl::StatusOr<std::unique_ptr<Communicator>> ConnectTcp(const RankInfo& info, StoreClient& store,
                                                         const TcpOptions& options,
                                                         const TcpWay& way = TcpWayOfThisBuild());

// Returns the error of a failed connection from `address`, or the loss of a rank if the store
// reports one.
absl::Status ExplainNoConnection(StoreClient& store, const TcpOptions& options,
                                 const std::string& address, const absl::Status& status);

// Returns the error of a failed exchange with rank `peer`, with the late ranks as far as `watch`
// knows them.
absl::Status ExplainFailedExchange(size_t peer, const absl::Status& status, const LateWatch& watch);

}  // namespace penstock

#endif  // PENSTOCK_TRAINER_COMM_TCP_WAY_H_
