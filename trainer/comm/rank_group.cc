#include "trainer/comm/rank_group.h"

#include "absl/strings/str_cat.h"
#include "records/base/status.h"

namespace penstock {

absl::StatusOr<std::unique_ptr<RankGroup>> RankGroup::Join(const RankInfo& info,
                                                           const RankGroupOptions& options) {
  std::unique_ptr<RankGroup> group(new RankGroup(info));
  if (info.world_size == 1) {
    group->communicator_ = std::make_unique<SingleCommunicator>();
    return group;
  }
  if (info.rank == 0) {
    PENSTOCK_ASSIGN_OR_RETURN(group->server_, StoreServer::Start(info));
    group->info_.rendezvous = group->server_->address();
  }
  PENSTOCK_ASSIGN_OR_RETURN(
      group->store_, StoreClient::Join(group->info_, options.join_timeout, options.should_stop));
  absl::StatusOr<std::unique_ptr<Communicator>> communicator =
      ConnectGloo(group->info_, *group->store_, options.gloo);
  if (!communicator.ok()) {
    group->Fail(communicator.status());
    return communicator.status();
  }
  group->communicator_ = *std::move(communicator);
  return group;
}

// The communicator first: what it waits for is told by the store.
RankGroup::~RankGroup() {
  communicator_.reset();
  store_.reset();
}

void RankGroup::Fail(const absl::Status& why) {
  if (store_ == nullptr) return;
  store_->Leave(store_->lost().ok() ? why : absl::OkStatus());
}

}  // namespace penstock
