// A rank's client of the ranks' store.
#ifndef PENSTOCK_TRAINER_COMM_STORE_CLIENT_H_
#define PENSTOCK_TRAINER_COMM_STORE_CLIENT_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "trainer/comm/rank_info.h"

namespace penstock {

// Thread-safe.
class StoreClient {
 public:
  // Returns once every rank of the world has joined. kUnavailable: rank 0 cannot be reached.
  // kDeadlineExceeded: ranks are missing after `timeout`; the message names them. kCancelled:
  // should_stop() returned true, here or on another rank. Other errors are those of
  // proto/rank_store.proto.
  static absl::StatusOr<std::unique_ptr<StoreClient>> Join(
      const RankInfo& info, absl::Duration timeout, const std::function<bool()>& should_stop = {});

  // Leaves as done, unless Leave() was called.
  virtual ~StoreClient() = default;

  virtual absl::Status Put(const std::string& key, const std::string& value) = 0;
  // Sends each rank its own value. `values` has one value for each rank.
  virtual absl::Status PutForEach(const std::string& key,
                                  const std::vector<std::string>& values) = 0;
  // Sends `value` to that rank only.
  virtual absl::Status PutFor(uint32_t rank, const std::string& key, const std::string& value) = 0;
  // Waits until some rank has put the key. kDeadlineExceeded: no rank did. If a rank is lost
  // meanwhile, returns lost().
  virtual absl::StatusOr<std::string> Get(const std::string& key, absl::Duration timeout) = 0;
  // Tells the others that this rank ends: done, interrupted (kCancelled), or with an error. Later
  // calls do nothing.
  virtual void Leave(const absl::Status& why) = 0;

  // Returns OK, or an error that names the rank that was lost first and the reason. The error is
  // kCancelled if that rank was interrupted, else kUnavailable.
  virtual absl::Status lost() const = 0;
  // Waits up to `timeout` for a loss, and returns lost().
  virtual absl::Status WaitForLost(absl::Duration timeout) const = 0;
  // Sets the callback of `owner`, called once when a rank is lost, on another thread or at once.
  // Callbacks run in the order in which they were set. Null removes it; it is not running when this
  // returns.
  virtual void OnLost(const void* owner, std::function<void(const absl::Status&)> callback) = 0;
};

}  // namespace penstock

#endif  // PENSTOCK_TRAINER_COMM_STORE_CLIENT_H_
