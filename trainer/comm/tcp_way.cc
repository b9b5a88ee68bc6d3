#include "trainer/comm/tcp_way.h"

#include "absl/strings/str_cat.h"
#include "base/status.h"

namespace penstock {
namespace {

// Checks that all ranks use the same way. Otherwise they would wait for each other for ever.
absl::Status CheckSameWay(const RankInfo& info, StoreClient& store, const TcpOptions& options,
                          const std::string& own) {
  auto key = [](size_t rank) { return absl::StrCat("tcp/", rank); };
  PENSTOCK_RETURN_IF_ERROR(store.Put(key(info.rank), own));
  for (size_t rank = 0; rank < info.world_size; ++rank) {
    const absl::StatusOr<std::string> way = store.Get(key(rank), options.connect_timeout);
    PENSTOCK_RETURN_IF_ERROR(
        Annotate(way.status(), absl::StrCat("while rank ", rank, " was connecting")));
    if (*way == own) continue;
    return absl::FailedPreconditionError(absl::StrCat("rank ", info.rank, " connects ranks by ",
                                                      own, ", but rank ", rank, " by ", *way,
                                                      ": start all ranks from the same build"));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::unique_ptr<Communicator>> ConnectTcp(const RankInfo& info, StoreClient& store,
                                                         const TcpOptions& options,
                                                         const TcpWay& way) {
  PENSTOCK_RETURN_IF_ERROR(CheckSameWay(info, store, options, way.name));
  return way.connect(info, store, options);
}

// A rank often sees the loss of a peer first; the store knows the reason.
absl::Status ExplainNoConnection(StoreClient& store, const TcpOptions& options,
                                 const std::string& address, const absl::Status& status) {
  PENSTOCK_RETURN_IF_ERROR(
      Annotate(store.WaitForLost(options.verdict_timeout), "while ranks were connecting"));
  return absl::Status(status.code(),
                      absl::StrCat("connecting the ranks by ", address, ": ", status.message(),
                                   "; try another network interface (--interface)"));
}

absl::Status ExplainFailedExchange(size_t peer, const absl::Status& status,
                                   const LateWatch& watch) {
  const std::string late = watch.Late();
  return absl::Status(status.code(),
                      absl::StrCat("the exchange with rank ", peer, " failed: ", status.message(),
                                   late.empty() ? "" : "; ", late));
}

}  // namespace penstock
