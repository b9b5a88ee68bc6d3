#include "trainer/app/open_in_turn.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status.h"
#include "trainer/comm/poll.h"

namespace penstock {
namespace {

std::string Key(size_t rank) { return absl::StrCat("rank ", rank, " has opened its data"); }

// Lets one rank wait for other ranks, and reports late ones.
class Turn {
 public:
  Turn(const RankInfo& info, StoreClient& store, const OpenInTurnOptions& options)
      : info_(info), store_(store), options_(options), patience_(options.late_after) {}

  absl::Status WaitFor(size_t rank);

 private:
  std::vector<size_t> NotOpened() const;
  void TellIfLate();

  const RankInfo& info_;
  StoreClient& store_;
  const OpenInTurnOptions& options_;
  Patience patience_;
  int told_ = 0;
};

// Waits in slices, so that it notices a signal.
absl::Status Turn::WaitFor(size_t rank) {
  while (true) {
    const absl::Status status = store_.Get(Key(rank), absl::Milliseconds(100)).status();
    if (status.ok()) return status;
    // Must come first: if other ranks are stopped too, they may have ended already.
    if (options_.should_stop && options_.should_stop()) return absl::CancelledError("interrupted");
    if (!absl::IsDeadlineExceeded(status)) return status;
    TellIfLate();
  }
}

// Returns the ranks that have not opened their data; only rank 0 if it is one of them, because the
// others then wait for it.
std::vector<size_t> Turn::NotOpened() const {
  std::vector<size_t> ranks;
  for (size_t rank = 0; rank < info_.world_size; ++rank) {
    if (store_.Get(Key(rank), absl::ZeroDuration()).ok()) continue;
    ranks.push_back(rank);
    if (rank == 0) break;
  }
  return ranks;
}

void Turn::TellIfLate() {
  if (!options_.report || !patience_.ended()) return;
  patience_.Renew();
  ++told_;
  const std::vector<size_t> late = NotOpened();
  if (late.empty()) return;
  const std::string waited = absl::FormatDuration(told_ * options_.late_after);
  options_.report(
      late.size() == 1
          ? absl::StrCat("rank ", late[0], " has not opened its data for ", waited,
                         " or longer, and other ranks wait for it; check its output and its disk")
          : absl::StrCat(
                "ranks ", absl::StrJoin(late, ", "), " have not opened their data for ", waited,
                " or longer, and other ranks wait for them; check their output and their disks"));
}

}  // namespace

absl::Status OpenInTurn(const RankInfo& info, StoreClient* store, const OpenInTurnOptions& options,
                        absl::FunctionRef<absl::Status()> open) {
  if (store == nullptr) return open();
  if (info.rank != 0) PENSTOCK_RETURN_IF_ERROR(Turn(info, *store, options).WaitFor(0));
  PENSTOCK_RETURN_IF_ERROR(open());
  PENSTOCK_RETURN_IF_ERROR(store->Put(Key(info.rank), ""));
  Turn turn(info, *store, options);
  for (size_t rank = 0; rank < info.world_size; ++rank) {
    PENSTOCK_RETURN_IF_ERROR(turn.WaitFor(rank));
  }
  return absl::OkStatus();
}

}  // namespace penstock
