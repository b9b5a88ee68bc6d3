// A fleet whose servers are killed all the time, of nothing that was asked of them.
#include "client/fetch/testing/fake_fleet.h"
#include "gtest/gtest.h"

namespace penstock {
namespace {

TEST(FetchControllerKillsTest, WindowsAreNotBlamedForServersThatAreKilledAllTheTime) {
  const ChunkTable table = {std::vector<uint32_t>(4000, 40), std::vector<uint32_t>(4000, 8000), 1};
  const Plan plan = *Plan::Create(table, {.lanes = 16, .window_chunks = 8});
  const Steps steps = *Steps::Create(plan.rows(), {.global_batch_size = 128});
  for (uint64_t seed = 0; seed < 20; ++seed) {
    FakeFleet fleet(plan, steps, {.num_slots = 16, .row_bytes = 200, .fetch_bytes = 8000},
                    {.servers = 4, .seed = seed, .consume = absl::Milliseconds(10)});
    CounterRng random(seed);
    for (int i = 0; i < 300; ++i) {
      const absl::Duration when = absl::Milliseconds(40 * (i + 1));
      const auto server = static_cast<uint32_t>(random.Below(4));
      // Slow before it dies, so that much is in flight.
      fleet.SlowDownAt(when - absl::Milliseconds(30), server, 100);
      fleet.KillAt(when, server);
      fleet.SlowDownAt(when, server, 1);
      fleet.RestartAt(when + absl::Milliseconds(random.Below(30)), server);
    }
    EXPECT_TRUE(fleet.Run()) << "seed " << seed << ": " << fleet.failure() << fleet.violation();
  }
}

}  // namespace
}  // namespace penstock
