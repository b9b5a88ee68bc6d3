#include "trainer/comm/rank_group.h"

#include "absl/strings/str_cat.h"
#include "base/process/process_limits.h"
#include "base/status.h"

namespace penstock {
namespace {

// Returns once all ranks are connected. A rank that fails later then finds no other rank still
// connecting: Gloo cannot be interrupted while it connects.
absl::Status WaitForConnected(const RankInfo& info, StoreClient& store, absl::Duration timeout) {
  auto key = [](size_t rank) { return absl::StrCat("connected/", rank); };
  PENSTOCK_RETURN_IF_ERROR(store.Put(key(info.rank), ""));
  for (size_t rank = 0; rank < info.world_size; ++rank) {
    PENSTOCK_RETURN_IF_ERROR(Annotate(store.Get(key(rank), timeout).status(),
                                      absl::StrCat("while rank ", rank, " was connecting")));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::unique_ptr<RankGroup>> RankGroup::Join(const RankInfo& info,
                                                           const RankGroupOptions& options) {
  std::unique_ptr<RankGroup> group(new RankGroup(info));
  if (info.world_size == 1) {
    group->communicator_ = std::make_unique<SingleCommunicator>();
    return group;
  }
  PENSTOCK_RETURN_IF_ERROR(CheckLimitsForGrpc());
  if (info.rank == 0) {
    PENSTOCK_ASSIGN_OR_RETURN(group->server_, StoreServer::Start(info));
    group->info_.rendezvous = group->server_->address();
  }
  PENSTOCK_ASSIGN_OR_RETURN(
      group->store_, StoreClient::Join(group->info_, options.join_timeout, options.should_stop));
  absl::StatusOr<std::unique_ptr<Communicator>> communicator =
      options.connect ? options.connect(group->info_, *group->store_, options.tcp)
                      : ConnectTcp(group->info_, *group->store_, options.tcp);
  absl::Status status = communicator.status();
  if (status.ok()) {
    group->communicator_ = *std::move(communicator);
    status = WaitForConnected(group->info_, *group->store_, options.tcp.connect_timeout);
  }
  if (status.ok()) return group;
  group->Fail(status);
  return status;
}

// The communicator is destroyed first: the store tells it when to stop waiting.
RankGroup::~RankGroup() {
  communicator_.reset();
  store_.reset();
}

void RankGroup::Fail(const absl::Status& why) {
  if (store_ == nullptr) return;
  store_->Leave(store_->lost().ok() ? why : absl::OkStatus());
}

}  // namespace penstock
