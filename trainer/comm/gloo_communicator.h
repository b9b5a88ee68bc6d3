// Ranks on CPUs, over TCP, by Gloo.
#ifndef PENSTOCK_TRAINER_COMM_GLOO_COMMUNICATOR_H_
#define PENSTOCK_TRAINER_COMM_GLOO_COMMUNICATOR_H_

#include <functional>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "trainer/comm/communicator.h"
#include "trainer/comm/rank_info.h"
#include "trainer/comm/store_client.h"

namespace penstock {

struct GlooOptions {
  // Network interface whose address the others reach this rank by; empty: the one that leads to
  // the rendezvous.
  std::string interface = {};
  absl::Duration connect_timeout = absl::Seconds(60);
  // No message for so long is an error that names the rank it was waited for.
  absl::Duration timeout = absl::Minutes(10);
  // How long a broken connection waits for the store to say which rank ended first.
  absl::Duration verdict_timeout = absl::Seconds(5);
  // A wait of `late_after` is told of once, in one line. On another thread.
  absl::Duration late_after = absl::Seconds(60);
  std::function<void(absl::string_view)> report = nullptr;
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
