// Tests how soon a server that joins has work, at the default look-ahead.
#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "client/fetch/sim/fleet.h"
#include "client/plan/plan.h"
#include "client/plan/steps.h"
#include "client/servers/server_source.h"
#include "gtest/gtest.h"

namespace penstock::sim {
namespace {

// Chess positions: 217 bytes each in their file, in chunks of 256 KiB.
constexpr uint32_t kRowsPerChunk = 1'208;
constexpr uint32_t kChunkBytes = 256 << 10;
constexpr uint64_t kI8RowBytes = 1'550;
constexpr uint64_t kPackedRowBytes = 202;
constexpr uint32_t kBatch = 4'096;

struct JoiningFleet {
  uint32_t servers = 4;  // Each has 2 cores.
  uint64_t row_bytes = kI8RowBytes;
  absl::Duration row_cost = absl::Nanoseconds(492);  // Measured for docs/guides/sizing.md.
  double demand = 0;  // Rows per second. 0 means 60 % of what the servers can give.
  uint64_t seed = 1;
};

// Measures the time from when ranks are told of one more server until it sends its first row.
class Joining {
 public:
  explicit Joining(const JoiningFleet& options)
      : options_(options),
        fleet_(MakeModel(options)),
        plan_(*Plan::Create(Table(), {.seed = options.seed})),
        steps_(*Steps::Create(plan_.rows(), {.global_batch_size = kBatch})) {
    RankOptions rank;
    for (uint32_t i = 0; i < options.servers; ++i) {
      rank.controller.servers.push_back(Fleet::Address(i));
    }
    rank.controller.num_slots = (64 << 20) / (kBatch * options.row_bytes);
    rank.controller.row_bytes = options.row_bytes;
    rank.controller.seed = options.seed;
    rank.check = false;
    rank.consumer.step = absl::Seconds(kBatch / Demand());
    fleet_.AddRank(plan_, steps_, rank);
  }

  absl::Duration FirstRow() {
    fleet_.queue().At(kJoins, [this] { Join(); });
    fleet_.Run(kJoins + absl::Seconds(kSeconds));
    EXPECT_EQ(fleet_.violation(), "");
    return first_row_ - kJoins;
  }

 private:
  static constexpr double kSeconds = 2;
  const absl::Time kJoins = absl::UnixEpoch() + absl::Seconds(1);

  static FleetModel MakeModel(const JoiningFleet& options) {
    ServerModel server;
    server.cores = 2;
    server.row_cost = options.row_cost;
    server.store = {.parallel_loads = 4, .seek = absl::Milliseconds(1), .rows_per_second = 2e7};
    server.part_rows = 1024;
    server.row_bytes = options.row_bytes;
    server.credit_bytes = 64 << 20;
    server.content = false;
    FleetModel model;
    model.servers.assign(options.servers + 1, server);
    model.link.jitter = absl::Microseconds(100);
    model.seed = options.seed;
    return model;
  }
  double Demand() const {
    if (options_.demand > 0) return options_.demand;
    return 0.6 * 2 * options_.servers / absl::ToDoubleSeconds(options_.row_cost);
  }
  // Returns a table of more rows than the test reads.
  ChunkTable Table() const {
    const auto chunks = static_cast<uint32_t>(kSeconds * 2 * Demand() / kRowsPerChunk) + 4'096;
    return {std::vector<uint32_t>(chunks, kRowsPerChunk),
            std::vector<uint32_t>(chunks, kChunkBytes), options_.seed};
  }

  void Join() {
    std::vector<std::string> addresses;
    for (uint32_t i = 0; i <= options_.servers; ++i) addresses.push_back(Fleet::Address(i));
    fleet_.rank(0).ChangeServers(addresses);
    Look();
  }
  void Look() {
    if (fleet_.server(options_.servers).rows_sent() > 0) {
      first_row_ = fleet_.queue().now();
    } else {
      fleet_.queue().After(absl::Milliseconds(1), [this] { Look(); });
    }
  }

  const JoiningFleet options_;
  Fleet fleet_;
  const Plan plan_;
  const Steps steps_;
  absl::Time first_row_ = absl::InfiniteFuture();
};

// Includes the time until a name is looked up again, or a path is looked at again.
TEST(JoiningTest, AServerIsUsedWithinTwoSeconds) {
  const ServerSourceOptions looks;
  const absl::Duration until_it_is_told = std::max(looks.resolve_every, looks.look_at_path_every);
  for (uint32_t servers : {2, 4, 8}) {
    for (uint64_t seed : {1, 2, 3}) {
      const JoiningFleet i8 = {.servers = servers, .seed = seed};
      JoiningFleet packed = i8;
      packed.row_bytes = kPackedRowBytes;
      packed.row_cost = absl::Nanoseconds(93);
      for (JoiningFleet fleet : {i8, packed}) {
        for (const double demand : {0.0, 1e6, 173e3, 20e3}) {
          fleet.demand = demand;
          const absl::Duration first = Joining(fleet).FirstRow();
          EXPECT_LT(until_it_is_told + first, absl::Seconds(2))
              << servers << " servers, seed " << seed << ", rows of " << fleet.row_bytes
              << " bytes, demand " << demand << " rows/s";
        }
      }
    }
  }
}

}  // namespace
}  // namespace penstock::sim
