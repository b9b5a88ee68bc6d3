// The controller with random plans, ranks and faults, in virtual time.
#include "client/fetch/testing/fetch_controller_fixture.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/status_matchers.h"

namespace penstock {
namespace {

// Random plans, ranks and faults. The fleet checks every row.
class FetchControllerChaosTest : public ::testing::TestWithParam<int> {};

TEST_P(FetchControllerChaosTest, ExactlyOnceInOrderAndAlive) {
  for (uint64_t seed = GetParam() * 50; seed < GetParam() * 50 + 50u; ++seed) {
    CounterRng rng(DeriveKey(77, seed));
    const uint32_t chunks = 1 + rng.Below(300);
    PlanOptions plan_options{.seed = seed,
                             .shuffle = rng.Below(5) != 0,
                             .lanes = static_cast<uint32_t>(1 + rng.Below(40)),
                             .window_chunks = static_cast<uint32_t>(1 + rng.Below(12)),
                             .strip_rows = static_cast<uint32_t>(rng.Below(20))};
    Plan plan = *Plan::Create(Chunks(chunks, 1 + rng.Below(60)), plan_options);
    const uint32_t world = 1 + rng.Below(4);
    StepOptions step_options{.global_batch_size = world + rng.Below(300),
                             .remainder = static_cast<Remainder>(1 + rng.Below(2)),
                             .epochs = 1 + rng.Below(3),
                             .rank = static_cast<uint32_t>(rng.Below(world)),
                             .world_size = world};
    absl::StatusOr<Steps> steps = Steps::Create(plan.rows(), step_options);
    if (!steps.ok()) continue;  // The epoch has fewer rows than one step.
    FleetOptions fleet_options{.servers = static_cast<uint32_t>(1 + rng.Below(5)),
                               .seed = seed,
                               .part_rows = static_cast<uint32_t>(1 + rng.Below(64))};
    FetchOptions options{.num_slots = static_cast<uint32_t>(2 + rng.Below(30)),
                         .row_bytes = 200,
                         .fetch_bytes = 200 + rng.Below(20000)};
    FakeFleet fleet(plan, *steps, options, fleet_options);
    for (int fault = rng.Below(6); fault > 0; --fault) {
      const auto server = static_cast<uint32_t>(rng.Below(fleet_options.servers));
      const absl::Duration when = absl::Milliseconds(rng.Below(200));
      const uint64_t kind = rng.Below(6);
      if (kind == 0) fleet.KillAt(when, server);
      if (kind == 1) {
        fleet.DrainAt(when, server, absl::Milliseconds(rng.Below(2) * rng.Below(400)));
      }
      if (kind == 2) fleet.StallAt(when, server);
      if (kind == 3) fleet.ForgetNextFetch(server);
      if (kind == 5) fleet.SlowDownAt(when, server, 1 + rng.Below(200));
      if (kind == 4) {
        fleet.FailWindows(server, static_cast<int>(1 + rng.Below(4)),
                          absl::UnavailableError("i/o error"));
      }
      fleet.RestartAt(when + absl::Milliseconds(rng.Below(3000)), server);
    }
    EXPECT_TRUE(fleet.Run()) << fleet.violation() << " " << fleet.failure() << " seed " << seed;
    EXPECT_EQ(fleet.open_windows(), 0u) << "seed " << seed;
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, FetchControllerChaosTest, ::testing::Range(0, 8));

// Servers are killed all the time, but never by a request.
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
      // The server is slow before it dies, so that many requests are in flight.
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
