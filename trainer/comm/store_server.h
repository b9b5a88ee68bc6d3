// The ranks' store over gRPC: a translation of StoreTable.
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
  // Serves at info.rendezvous until destroyed: HOST:PORT (all addresses of this host, unless HOST
  // is a loopback one) or unix-abstract:NAME.
  // kUnavailable: the address cannot be listened at, saying what to do.
  static absl::StatusOr<std::unique_ptr<StoreServer>> Start(const RankInfo& info);

  // Waits some seconds for ranks that have not left, so that all hear why the others end.
  virtual ~StoreServer() = default;

  // For rank 0 itself and tests; port 0 was replaced by the one taken.
  virtual std::string address() const = 0;
};

}  // namespace penstock

#endif  // PENSTOCK_TRAINER_COMM_STORE_SERVER_H_
