// Gloo's connections between all ranks, whose making can be ended from another thread.
#ifndef PENSTOCK_TRAINER_COMM_GLOO_MESH_H_
#define PENSTOCK_TRAINER_COMM_GLOO_MESH_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "base/mutex.h"
#include "gloo/context.h"
#include "gloo/transport/device.h"
#include "trainer/comm/rank_info.h"
#include "trainer/comm/store_client.h"

namespace penstock {

// Gloo's own connectFullMesh() waits for a rank that died five times its time-out.
class GlooMesh final : public gloo::Context {
 public:
  explicit GlooMesh(const RankInfo& info);

  // Has SIGPIPE ignored where nobody decided otherwise. Connects this rank with every other one,
  // which call it too; a rank that `store` reports lost meanwhile ends it. Once. May throw what
  // Gloo throws. kUnavailable: a rank was lost, or cannot be reached, naming it; kDeadlineExceeded:
  // one has not come within `timeout`, which each in turn is granted anew, for its address and for
  // its connection.
  absl::Status Connect(std::shared_ptr<gloo::transport::Device> device, StoreClient& store,
                       absl::Duration timeout);

 private:
  void CreatePairs(std::shared_ptr<gloo::transport::Device> device, absl::Duration timeout);
  // Where each of the others reaches this rank.
  std::vector<std::string> Addresses() const;
  absl::Status ConnectTo(int peer, StoreClient& store, absl::Duration timeout);
  // False: no longer, because of Abort().
  bool BeginWait();
  void EndWait();
  void Abort();

  Mutex mutex_;
  CondVar changed_;
  bool aborted_ ABSL_GUARDED_BY(mutex_) = false;
  bool waiting_ ABSL_GUARDED_BY(mutex_) = false;  // For a peer's connection.
};

}  // namespace penstock

#endif  // PENSTOCK_TRAINER_COMM_GLOO_MESH_H_
