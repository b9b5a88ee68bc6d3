// One rank's end of the ranks' store.
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
  // Returns once every rank of the world is here.
  // kUnavailable: rank 0 cannot be reached, or ranks are missing after `timeout`, naming them;
  // else as proto/rank_store.proto has it. kCancelled: should_stop() said so, here or on another.
  static absl::StatusOr<std::unique_ptr<StoreClient>> Join(
      const RankInfo& info, absl::Duration timeout, const std::function<bool()>& should_stop = {});

  // Leaves as done, unless Leave() was called.
  virtual ~StoreClient() = default;

  virtual absl::Status Put(const std::string& key, const std::string& value) = 0;
  // Of `values`, one for each rank, every rank gets its own alone.
  virtual absl::Status PutForEach(const std::string& key,
                                  const std::vector<std::string>& values) = 0;
  // For that rank alone.
  virtual absl::Status PutFor(uint32_t rank, const std::string& key, const std::string& value) = 0;
  // Waits until some rank has put it. kDeadlineExceeded; as lost(): a rank was lost meanwhile.
  virtual absl::StatusOr<std::string> Get(const std::string& key, absl::Duration timeout) = 0;
  // Tells the others that this rank ends: done, interrupted (kCancelled), or why it failed. Once;
  // later calls do nothing.
  virtual void Leave(const absl::Status& why) = 0;

  // OK, or which rank was lost first and why: kCancelled where it was interrupted, else
  // kUnavailable.
  virtual absl::Status lost() const = 0;
  // Waits for the same at most `timeout`.
  virtual absl::Status WaitForLost(absl::Duration timeout) const = 0;
  // Called once, on another thread or at once, when a rank is lost: one callback of each `owner`,
  // in the order they came. Null: no longer; it is not running then.
  virtual void OnLost(const void* owner, std::function<void(const absl::Status&)> callback) = 0;
};

}  // namespace penstock

#endif  // PENSTOCK_TRAINER_COMM_STORE_CLIENT_H_
