#include "absl/strings/str_cat.h"
#include "trainer/comm/gloo_communicator.h"

namespace penstock {

bool HasGloo() { return false; }

absl::StatusOr<std::unique_ptr<Communicator>> ConnectGloo(const RankInfo& info, StoreClient&,
                                                          const GlooOptions&) {
  return absl::FailedPreconditionError(
      absl::StrCat(info.world_size, " ranks: this build has no Gloo to connect them; use ",
                   "the packaged build, or one rank"));
}

}  // namespace penstock
