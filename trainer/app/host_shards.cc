#include "trainer/app/host_shards.h"

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "base/status.h"
#include "trainer/comm/gather.h"

namespace penstock {
namespace {

// A host's cursor as ranks exchange it. The array is large enough for any cursor.
struct CursorText {
  char text[256] = {};
};

struct LocalPlace {
  uint32_t rank = 0;
  uint32_t size = 0;
};

struct Counts {
  uint64_t steps = 0;
  uint64_t has_holdout = 0;
};

// `before` and `after` are the words around rank 0's number.
absl::Status HostsDiffer(absl::string_view before, uint64_t own, absl::string_view after,
                         size_t rank, uint64_t theirs, absl::string_view cure) {
  return absl::InvalidArgumentError(absl::StrCat("--shard-by local-rank: rank 0's host has ",
                                                 before, own, after, ", but rank ", rank,
                                                 "'s host has ", before, theirs, ": ", cure));
}

// Counts positions in rows of the batches of all hosts, because a position in one host's data means
// nothing to other hosts.
class HostInput final : public Input {
 public:
  HostInput(Input& host, size_t hosts, uint64_t global_batch_size, uint64_t position)
      : host_(host), hosts_(hosts), global_batch_size_(global_batch_size), position_(position) {}

  absl::StatusOr<bool> Next(InputBatch& batch) override {
    PENSTOCK_ASSIGN_OR_RETURN(const bool more, host_.Next(batch));
    if (!more) return false;
    batch.global_rows *= hosts_;
    batch.first_position = std::exchange(position_, position_ + global_batch_size_);
    return true;
  }
  bool Ready() const override { return host_.Ready(); }
  void Close() override { host_.Close(); }
  std::vector<InputServer> servers() const override { return host_.servers(); }

 private:
  Input& host_;
  const size_t hosts_;
  const uint64_t global_batch_size_;
  uint64_t position_;  // Position of the next batch.
};

}  // namespace

absl::StatusOr<HostPlace> FindHost(Communicator& ranks, const RankInfo& info) {
  PENSTOCK_ASSIGN_OR_RETURN(const std::vector<LocalPlace> all,
                            GatherOne(ranks, LocalPlace{info.local_rank, info.local_size}));
  std::vector<size_t> seen(info.world_size);  // Number of ranks with each local rank.
  HostPlace place{.host = 0, .hosts = all.size() / all[0].size};
  for (size_t r = 0; r < all.size(); ++r) {
    if (all[r].size != all[0].size) {
      return HostsDiffer("", all[0].size, " ranks", r, all[r].size,
                         "start the same number of ranks on every host");
    }
    if (r < info.rank && all[r].rank == info.local_rank) ++place.host;
    ++seen[all[r].rank];
  }
  for (size_t local = 0; local < all[0].size; ++local) {
    if (seen[local] == place.hosts && all.size() % all[0].size == 0) continue;
    return absl::InvalidArgumentError(absl::StrCat(
        "--shard-by local-rank: of ", all.size(), " ranks with ", all[0].size, " on each host, ",
        seen[local], " have local rank ", local, ": start the same number of ranks on every host"));
  }
  return place;
}

absl::StatusOr<HostShards> HostShards::Find(Communicator& ranks, const TrainerOptions& options) {
  HostShards shards;
  shards.rank_ = options.rank;
  shards.by_local_rank_ = options.ranks.by_local_rank();
  if (!options.ranks.by_local_rank()) return shards;
  PENSTOCK_ASSIGN_OR_RETURN(shards.place_, FindHost(ranks, options.rank));
  return shards;
}

void HostShards::Divide(LoaderOptions& loader) const {
  if (!apart()) return;
  loader.rank = rank_.local_rank;
  loader.world_size = rank_.local_size;
  loader.global_batch_size /= place_.hosts;
}

std::unique_ptr<Input> HostShards::Join(Input& host, const TrainerOptions& options,
                                        uint64_t step) const {
  if (!apart()) return nullptr;
  return std::make_unique<HostInput>(host, place_.hosts, options.global_batch_size,
                                     step * options.accumulate * options.global_batch_size);
}

absl::Status HostShards::CompareOrders(Communicator& ranks, uint64_t order_fingerprint) const {
  struct Order {
    uint64_t host, fingerprint;
  };
  PENSTOCK_ASSIGN_OR_RETURN(const std::vector<Order> all,
                            GatherOne(ranks, Order{place_.host, order_fingerprint}));
  for (size_t r = 0; r < all.size(); ++r) {
    const auto first = std::find_if(all.begin(), all.end(),
                                    [&](const Order& order) { return order.host == all[r].host; });
    if (first->fingerprint == all[r].fingerprint) continue;
    return absl::InvalidArgumentError(absl::StrCat(
        "rank ", r, " has other data, or another order, than rank ", first - all.begin(),
        by_local_rank_ ? ", which is on the same host (--local-size)" : "", " (fingerprints ",
        absl::Hex(all[r].fingerprint), " and ", absl::Hex(first->fingerprint), "): give ",
        by_local_rank_ ? "all ranks of a host" : "all ranks",
        " the same manifest, --seed and options"));
  }
  return absl::OkStatus();
}

absl::Status HostShards::CompareCounts(Communicator& ranks, uint64_t steps,
                                       bool has_holdout) const {
  if (!apart()) return absl::OkStatus();
  PENSTOCK_ASSIGN_OR_RETURN(const std::vector<Counts> all,
                            GatherOne(ranks, Counts{steps, has_holdout ? 1u : 0u}));
  for (size_t r = 1; r < all.size(); ++r) {
    if (all[r].steps != all[0].steps) {
      return HostsDiffer(
          "data for ", all[0].steps, " steps", r, all[r].steps,
          "give --steps, for which a host repeats its data as often as needed, or split "
          "the data evenly");
    }
    if (all[r].has_holdout != all[0].has_holdout) {
      const size_t with = all[0].has_holdout != 0 ? 0 : r, without = r - with;
      return absl::InvalidArgumentError(absl::StrCat(
          "--shard-by local-rank: rank ", with, "'s host has held-out records, but rank ", without,
          "'s host has none: index the data of all hosts with --holdout, or of no host"));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<std::string> HostShards::GatherCursors(Communicator& ranks,
                                                      const std::string& own) const {
  // If `own` has a space, it is the text with all hosts' cursors that was read from a checkpoint:
  // no step has been applied since.
  if (!apart() || absl::StrContains(own, ' ')) return own;
  CursorText text;
  own.copy(text.text, sizeof(text.text) - 1);
  PENSTOCK_ASSIGN_OR_RETURN(const std::vector<CursorText> all, GatherOne(ranks, text));
  PENSTOCK_ASSIGN_OR_RETURN(const std::vector<uint64_t> hosts,
                            GatherOne(ranks, uint64_t{place_.host}));
  std::vector<std::string> cursors(place_.hosts);
  for (size_t r = 0; r < all.size(); ++r) {
    if (hosts[r] >= place_.hosts) {
      return absl::InternalError(absl::StrCat("rank ", r, " reports host ", hosts[r],
                                              ", but there are ", place_.hosts,
                                              " hosts, counted from 0"));
    }
    const std::string cursor(all[r].text, strnlen(all[r].text, sizeof(all[r].text)));
    if (!cursor.empty()) {
      PENSTOCK_RETURN_IF_ERROR(
          Annotate(Cursor::Parse(cursor).status(), absl::StrCat("the cursor of rank ", r)));
    }
    cursors[hosts[r]] = cursor;
  }
  return absl::StrJoin(cursors, " ");
}

absl::StatusOr<Cursor> HostShards::OwnCursor(absl::string_view cursors) const {
  const std::vector<absl::string_view> all = absl::StrSplit(cursors, ' ');
  if (all.size() == place_.hosts) return Cursor::Parse(all[place_.host]);
  return absl::InvalidArgumentError(
      absl::StrCat("the checkpoint was written by ", all.size(),
                   all.size() == 1 ? " host" : " hosts with data of their own",
                   ", but this training has ", place_.hosts, ": resume with ", all.size(),
                   " (--shard-by local-rank), or start a new training from its weights "
                   "(penstock-train export, --init-from)"));
}

}  // namespace penstock
