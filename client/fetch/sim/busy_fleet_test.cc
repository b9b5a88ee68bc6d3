// An overloaded fleet: every server keeps every client waiting, and no server is late.
#include <map>
#include <string>
#include <vector>

#include "client/fetch/sim/fleet.h"
#include "client/fetch/sim/scale_server.h"
#include "client/plan/plan.h"
#include "client/plan/steps.h"
#include "gtest/gtest.h"

namespace penstock::sim {
namespace {

constexpr uint32_t kServers = 32;
constexpr uint32_t kRanks = 32;
constexpr uint32_t kRankBatch = 512;
constexpr uint32_t kChunkRows = 64;

FleetModel MakeModel() {
  FleetModel model;
  model.servers.assign(kServers, ScaleServer());
  model.link.jitter = absl::Microseconds(100);
  return model;
}

RankOptions MakeRank(uint32_t rank) {
  RankOptions options;
  for (uint32_t i = 0; i < kServers; ++i) options.controller.servers.push_back(Fleet::Address(i));
  options.controller.num_slots = 32;
  options.controller.row_bytes = kScaleRowBytes;
  options.controller.seed = rank;
  options.check = false;
  return options;
}

// Small batches: at first a rank has requests at some servers and not at others.
TEST(BusyFleetTest, ReadsNearlyEveryWindowOnce) {
  const Plan plan = *Plan::Create({std::vector<uint32_t>(20'000, kChunkRows),
                                   std::vector<uint32_t>(20'000, kChunkRows * kScaleRowBytes), 1},
                                  {.lanes = 4 * kServers, .window_chunks = 16, .strip_rows = 16});
  Fleet fleet(MakeModel());
  std::vector<LoadRecord> loads;
  for (uint32_t i = 0; i < kServers; ++i) fleet.server(i).set_load_records(&loads);
  for (uint32_t rank = 0; rank < kRanks; ++rank) {
    const StepOptions steps{
        .global_batch_size = kRankBatch * kRanks, .rank = rank, .world_size = kRanks};
    fleet.AddRank(plan, *Steps::Create(plan.rows(), steps), MakeRank(rank));
  }
  fleet.Run(absl::UnixEpoch() + absl::Seconds(6));
  EXPECT_EQ(fleet.violation(), "");
  std::map<WindowId, uint32_t> windows;
  for (const LoadRecord& load : loads) ++windows[load.window];
  EXPECT_GE(windows.size(), 4 * kServers);
  EXPECT_LT(loads.size(), 1.05 * windows.size());
}

}  // namespace
}  // namespace penstock::sim
