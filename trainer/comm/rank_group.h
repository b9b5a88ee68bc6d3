// This process as one of the ranks of a training, from joining to leaving.
#ifndef PENSTOCK_TRAINER_COMM_RANK_GROUP_H_
#define PENSTOCK_TRAINER_COMM_RANK_GROUP_H_

#include <functional>
#include <memory>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "trainer/comm/communicator.h"
#include "trainer/comm/rank_info.h"
#include "trainer/comm/store_client.h"
#include "trainer/comm/store_server.h"
#include "trainer/comm/tcp_way.h"

namespace penstock {

// Connects the ranks after they have met. The result may borrow the store.
using ConnectRanks = std::function<absl::StatusOr<std::unique_ptr<Communicator>>(
    const RankInfo&, StoreClient&, const WaitOptions&)>;

struct RankGroupOptions {
  absl::Duration join_timeout = absl::Minutes(2);
  TcpOptions tcp = {};
  std::function<bool()> should_stop = {};  // Polled while ranks are missing.
  ConnectRanks connect = {};               // If empty, ConnectTcp() is used.
};

// Not thread-safe. The destructor leaves as done, unless Fail() was called. On rank 0 it waits some
// seconds for the others to leave.
class RankGroup {
 public:
  // Serves the store on rank 0, joins it, and connects all ranks. A single rank needs none of this.
  static absl::StatusOr<std::unique_ptr<RankGroup>> Join(const RankInfo& info,
                                                         const RankGroupOptions& options);
  ~RankGroup();

  const RankInfo& info() const { return info_; }
  Communicator& communicator() { return *communicator_; }
  // Null if there is only one rank.
  StoreClient* store() { return store_.get(); }

  // Tells the others that this rank ends with the error `why`; they end with it. kCancelled means
  // that it was interrupted. Sends nothing if `why` is the loss of another rank.
  void Fail(const absl::Status& why);

 private:
  explicit RankGroup(const RankInfo& info) : info_(info) {}

  RankInfo info_;
  std::unique_ptr<StoreServer> server_;  // Null except on rank 0.
  std::unique_ptr<StoreClient> store_;
  std::unique_ptr<Communicator> communicator_;
};

}  // namespace penstock

#endif  // PENSTOCK_TRAINER_COMM_RANK_GROUP_H_
