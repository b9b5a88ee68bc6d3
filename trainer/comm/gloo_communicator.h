// Ranks on CPUs, over TCP, by Gloo.
#ifndef PENSTOCK_TRAINER_COMM_GLOO_COMMUNICATOR_H_
#define PENSTOCK_TRAINER_COMM_GLOO_COMMUNICATOR_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "trainer/comm/communicator.h"
#include "trainer/comm/rank_info.h"
#include "trainer/comm/store_client.h"
#include "trainer/comm/wait_options.h"

namespace penstock {

struct GlooOptions : WaitOptions {
  // Network interface whose address the others reach this rank by; empty: the one that leads to
  // the rendezvous.
  std::string interface = {};
};

// Not with PENSTOCK_PORTABLE.
bool HasGloo();

// Connects this rank with every other one. `store` must outlive the communicator; a rank that it
// reports lost ends any wait at once.
// kUnavailable: a rank cannot be reached, naming it where it is known.
// kFailedPrecondition: a build without Gloo.
absl::StatusOr<std::unique_ptr<Communicator>> ConnectGloo(const RankInfo& info, StoreClient& store,
                                                          const GlooOptions& options);

}  // namespace penstock

#endif  // PENSTOCK_TRAINER_COMM_GLOO_COMMUNICATOR_H_
