// Gloo's connections between all ranks. Another thread can end the connecting.
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

// Gloo's own connectFullMesh() waits five times its time-out for a rank that died.
class GlooMesh final : public gloo::Context {
 public:
  explicit GlooMesh(const RankInfo& info);

  // Connects this rank with every other one; all must call this, once. Ignores SIGPIPE unless the
  // program has set it up itself. Ends early if `store` reports a lost rank. May throw Gloo's
  // exceptions. kUnavailable: a rank was lost or cannot be reached; the message names it.
  // kDeadlineExceeded: a rank did not come within `timeout`, which applies anew to each rank's
  // address and to each rank's connection.
  absl::Status Connect(std::shared_ptr<gloo::transport::Device> device, StoreClient& store,
                       absl::Duration timeout);

 private:
  void CreatePairs(std::shared_ptr<gloo::transport::Device> device, absl::Duration timeout);
  // The addresses at which each of the others reaches this rank.
  std::vector<std::string> Addresses() const;
  absl::Status ConnectTo(int peer, StoreClient& store, absl::Duration timeout);
  // Returns false after Abort().
  bool BeginWait();
  void EndWait();
  void Abort();

  Mutex mutex_;
  CondVar changed_;
  bool aborted_ ABSL_GUARDED_BY(mutex_) = false;
  bool waiting_ ABSL_GUARDED_BY(mutex_) = false;  // Whether it waits for a peer's connection.
};

}  // namespace penstock

#endif  // PENSTOCK_TRAINER_COMM_GLOO_MESH_H_
