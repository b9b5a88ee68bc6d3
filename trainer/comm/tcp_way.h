// How ranks on CPUs are connected, always over TCP: by Gloo or, in a build without it, by sockets.
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
  // Network interface whose address the others reach this rank by; empty: the one that leads to
  // the rendezvous.
  std::string interface = {};
};

struct TcpWay {
  const char* name;  // "Gloo": for messages.
  // Connects this rank with every other one. The store must outlive the communicator; a rank that
  // it reports lost ends any wait at once.
  // kUnavailable: a rank cannot be reached, naming it where it is known; kDeadlineExceeded: one has
  // not come in time.
  absl::StatusOr<std::unique_ptr<Communicator>> (*connect)(const RankInfo&, StoreClient&,
                                                           const TcpOptions&);
};

// ConnectSockets() with PENSTOCK_PORTABLE, else ConnectGloo().
TcpWay TcpWayOfThisBuild();

// kFailedPrecondition: not all ranks have the same way. Else as `way.connect`.
absl::StatusOr<std::unique_ptr<Communicator>> ConnectTcp(const RankInfo& info, StoreClient& store,
                                                         const TcpOptions& options,
                                                         const TcpWay& way = TcpWayOfThisBuild());

// What connecting by `address` failed with, or rather the rank whose loss the store tells of.
absl::Status ExplainNoConnection(StoreClient& store, const TcpOptions& options,
                                 const std::string& address, const absl::Status& status);

// What an exchange with rank `peer` failed with, and who is late as far as `watch` knows.
absl::Status ExplainFailedExchange(size_t peer, const absl::Status& status, const LateWatch& watch);

}  // namespace penstock

#endif  // PENSTOCK_TRAINER_COMM_TCP_WAY_H_
