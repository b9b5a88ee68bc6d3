// Parts that are copied while other things happen.
#include "client/fetch/fetch_controller.h"
#include "client/fetch/testing/fake_fleet.h"
#include "client/plan/plan.h"
#include "gtest/gtest.h"

namespace penstock {
namespace {

constexpr uint32_t kServers = 3;

class FetchControllerCopyingTest : public ::testing::TestWithParam<uint64_t> {
 protected:
  FetchControllerCopyingTest()
      : plan_(*Plan::Create({std::vector<uint32_t>(400, 40), std::vector<uint32_t>(400, 8000), 1},
                            {.lanes = 16, .window_chunks = 8})),
        steps_(*Steps::Create(plan_.rows(), {.global_batch_size = 128})),
        fleet_(plan_, steps_, {.num_slots = 16, .row_bytes = 200, .fetch_bytes = 8000},
               {.servers = kServers, .seed = GetParam(), .copying = absl::Milliseconds(7)}) {}

  const Plan plan_;
  const Steps steps_;
  FakeFleet fleet_;
};

TEST_P(FetchControllerCopyingTest, WhatIsBeingCopiedSurvivesItsServer) {
  for (int i = 1; i <= 20; ++i) {
    fleet_.KillAt(absl::Milliseconds(30 * i), i % kServers);
    fleet_.RestartAt(absl::Milliseconds(30 * i + 10), i % kServers);
  }
  EXPECT_TRUE(fleet_.Run()) << fleet_.violation() << fleet_.failure();
}

TEST_P(FetchControllerCopyingTest, WhatIsBeingCopiedIsNotAskedForAgain) {
  fleet_.SlowDownAt(absl::Milliseconds(20), 1, 50);
  fleet_.DrainAt(absl::Milliseconds(60), 2);
  EXPECT_TRUE(fleet_.Run()) << fleet_.violation() << fleet_.failure();
}

INSTANTIATE_TEST_SUITE_P(Seeds, FetchControllerCopyingTest, ::testing::Range<uint64_t>(1, 21));

}  // namespace
}  // namespace penstock
