#include "trainer/app/host_shards.h"

#include <algorithm>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/status_matchers.h"
#include "trainer/comm/testing/rank_threads.h"
#include "trainer/input/testing/memory_input.h"

namespace penstock {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

struct Local {
  uint32_t rank, size;
};

// Returns the host of every rank, or its error.
std::vector<absl::StatusOr<HostPlace>> Places(const std::vector<Local>& locals) {
  std::vector<absl::StatusOr<HostPlace>> places(locals.size(), absl::UnknownError("not run"));
  RunRanks(static_cast<uint32_t>(locals.size()), [&](RankGroup& group) {
    RankInfo info = group.info();
    info.local_rank = locals[info.rank].rank;
    info.local_size = locals[info.rank].size;
    places[info.rank] = FindHost(group.communicator(), info);
  });
  return places;
}

std::vector<size_t> Hosts(const std::vector<Local>& locals) {
  std::vector<size_t> hosts;
  for (const auto& place : Places(locals)) {
    EXPECT_OK(place);
    if (!place.ok()) continue;
    EXPECT_EQ(place->hosts, 2u);
    hosts.push_back(place->host);
  }
  return hosts;
}

TEST(FindHostTest, RanksMayBeNumberedByHostOrAcrossHosts) {
  EXPECT_THAT(Hosts({{0, 2}, {1, 2}, {0, 2}, {1, 2}}), ElementsAre(0, 0, 1, 1));
  EXPECT_THAT(Hosts({{0, 2}, {0, 2}, {1, 2}, {1, 2}}), ElementsAre(0, 1, 0, 1));
}

TEST(FindHostTest, HostsOfDifferentSizesAreNamed) {
  for (const auto& place : Places({{0, 2}, {1, 2}, {0, 1}})) {
    EXPECT_THAT(place,
                StatusIs(absl::StatusCode::kInvalidArgument,
                         AllOf(HasSubstr("rank 0's host has 2 ranks, but rank 2's host has 1"),
                               HasSubstr("the same number of ranks on every host"))));
  }
}

class HostShardsTest : public testing::Test {
 protected:
  static TrainerOptions Options(const RankInfo& info, uint32_t local_size) {
    TrainerOptions options;
    options.ranks.shard_by = "local-rank";
    options.rank = info;
    options.rank.local_rank = info.rank % local_size;
    options.rank.local_size = local_size;
    return options;
  }
};

TEST_F(HostShardsTest, ACheckpointHoldsACursorOfEveryHost) {
  RunRanks(4, [&](RankGroup& group) {
    Communicator& ranks = group.communicator();
    auto shards = HostShards::Find(ranks, Options(group.info(), 2)).value();
    const size_t host = ranks.rank() / 2;
    const Cursor own{.order_fingerprint = 7 + host, .epoch = host, .position = 64};
    auto all = shards.GatherCursors(ranks, own.ToString()).value();
    EXPECT_THAT(shards.OwnCursor(all), IsOkAndHolds(own));
    // The text stays as it was read.
    EXPECT_THAT(shards.GatherCursors(ranks, all), IsOkAndHolds(all));
    EXPECT_THAT(shards.OwnCursor(own.ToString()),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         HasSubstr("by 1 host, but this training has 2")));
  });
}

// Rank 0 of two. The other rank always sends this byte.
class Nonsense final : public Communicator {
 public:
  explicit Nonsense(uint8_t byte) : byte_(byte) {}
  size_t rank() const override { return 0; }
  size_t size() const override { return 2; }
  absl::Status Exchange(std::span<const Outgoing>, std::span<const Incoming> in) override {
    for (const Incoming& incoming : in) std::ranges::fill(incoming.bytes, byte_);
    return absl::OkStatus();
  }

 private:
  const uint8_t byte_;
};

TEST_F(HostShardsTest, NonsenseOfAnotherRankIsNoCursor) {
  RunRanks(2, [&](RankGroup& group) {
    auto shards = HostShards::Find(group.communicator(), Options(group.info(), 1)).value();
    ASSERT_TRUE(shards.apart());
    Nonsense far(0xff), near('x');
    for (Communicator* ranks : {&far, &near}) {
      EXPECT_THAT(shards.GatherCursors(*ranks, Cursor().ToString()),
                  StatusIs(absl::StatusCode::kInternal, HasSubstr("rank 1 reports host")));
    }
    Nonsense nothing(0);  // This rank says that it is on host 0 too, and that it has no cursor yet.
    EXPECT_OK(shards.GatherCursors(nothing, Cursor().ToString()));
  });
}

TEST_F(HostShardsTest, RanksOfOneHostAloneAreCompared) {
  RunRanks(4, [&](RankGroup& group) {
    Communicator& ranks = group.communicator();
    auto shards = HostShards::Find(ranks, Options(group.info(), 2)).value();
    EXPECT_OK(shards.CompareOrders(ranks, ranks.rank() / 2));
    EXPECT_THAT(shards.CompareOrders(ranks, ranks.rank()),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         HasSubstr("rank 1 has other data, or another order, than rank 0, which is "
                                   "on the same host")));
    EXPECT_THAT(
        shards.CompareCounts(ranks, 10 + ranks.rank() / 2, true),
        StatusIs(
            absl::StatusCode::kInvalidArgument,
            AllOf(
                HasSubstr("rank 0's host has data for 10 steps, but rank 2's host has data for 11"),
                HasSubstr("--steps"))));
    EXPECT_THAT(
        shards.CompareCounts(ranks, 10, ranks.rank() < 2),
        StatusIs(absl::StatusCode::kInvalidArgument,
                 AllOf(HasSubstr("rank 0's host has held-out records, but rank 2's host has none"),
                       HasSubstr("--holdout"))));
    EXPECT_THAT(
        shards.CompareCounts(ranks, 10, ranks.rank() >= 2),
        StatusIs(absl::StatusCode::kInvalidArgument,
                 HasSubstr("rank 2's host has held-out records, but rank 0's host has none")));
  });
}

TEST_F(HostShardsTest, AHostsBatchIsItsPartOfTheGlobalOne) {
  RunRanks(4, [&](RankGroup& group) {
    Communicator& ranks = group.communicator();
    TrainerOptions options = Options(group.info(), 2);
    options.global_batch_size = 64;
    auto shards = HostShards::Find(ranks, options).value();
    LoaderOptions loader;
    loader.global_batch_size = 64;
    shards.Divide(loader);
    EXPECT_EQ(loader.global_batch_size, 32u);
    EXPECT_EQ(loader.rank, ranks.rank() % 2);
    EXPECT_EQ(loader.world_size, 2u);
    MemoryInput host(96, 32, /*seed=*/1, "", loader.rank, 2);
    const std::unique_ptr<Input> input = shards.Join(host, options, /*step=*/0);
    InputBatch batch;
    for (uint64_t position : {0, 64, 128}) {
      EXPECT_THAT(input->Next(batch), IsOkAndHolds(true));
      EXPECT_EQ(batch.rows, 16u);
      EXPECT_EQ(batch.global_rows, 64u);
      EXPECT_EQ(batch.first_position, position);
    }
    EXPECT_THAT(input->Next(batch), IsOkAndHolds(false));
  });
}

TEST_F(HostShardsTest, PositionsGoOnWhereATrainingDoes) {
  RunRanks(2, [&](RankGroup& group) {
    TrainerOptions options = Options(group.info(), 1);
    options.global_batch_size = 64;
    options.accumulate = 2;
    auto shards = HostShards::Find(group.communicator(), options).value();
    MemoryInput host(96, 32);
    const std::unique_ptr<Input> input = shards.Join(host, options, /*step=*/5);
    InputBatch batch;
    for (uint64_t position : {640, 704}) {
      EXPECT_THAT(input->Next(batch), IsOkAndHolds(true));
      EXPECT_EQ(batch.first_position, position);
    }
  });
}

TEST_F(HostShardsTest, OneHostIsNotApart) {
  RunRanks(2, [&](RankGroup& group) {
    auto shards = HostShards::Find(group.communicator(), Options(group.info(), 2)).value();
    EXPECT_FALSE(shards.apart());
    MemoryInput host(10, 2);
    EXPECT_EQ(shards.Join(host, TrainerOptions{}, 0), nullptr);
  });
}

}  // namespace
}  // namespace penstock
