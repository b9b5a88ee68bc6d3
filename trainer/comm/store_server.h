// Serves the ranks' store over gRPC, by translating StoreTable.
#ifndef PENSTOCK_TRAINER_COMM_STORE_SERVER_H_
#define PENSTOCK_TRAINER_COMM_STORE_SERVER_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "trainer/comm/rank_info.h"

namespace penstock {

// Thread-safe.
class StoreServer {
 public:
  // Serves at info.rendezvous until destroyed: at HOST:PORT (on all addresses of this host, unless
  // HOST is a loopback address) or unix-abstract:NAME. kUnavailable: cannot listen at the address;
  // the message says what to do.
  static absl::StatusOr<std::unique_ptr<StoreServer>> Start(const RankInfo& info);

  // Waits some seconds for ranks that have not left, so that all hear why others end.
  virtual ~StoreServer() = default;

  // For rank 0 itself and for tests; port 0 is replaced by the chosen port.
  virtual std::string address() const = 0;
};

}  // namespace penstock

#endif  // PENSTOCK_TRAINER_COMM_STORE_SERVER_H_
