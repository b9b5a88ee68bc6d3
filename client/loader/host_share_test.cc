#include "client/loader/host_share.h"

#include <gtest/gtest.h>

namespace penstock {
namespace {

constexpr uint64_t kGib = uint64_t{1} << 30;

TEST(HostShareTest, EightRanksTogetherTakeWhatOneTakesAlone) {
  const MachineLimits machine = {.cores = 64, .memory_bytes = 256 * kGib};
  const HostShare alone = ShareOfHost(1, machine);
  const HostShare one_of_eight = ShareOfHost(8, machine);
  EXPECT_EQ(alone.threads, 64u);
  EXPECT_EQ(alone.memory_budget, 64 * kGib);
  EXPECT_EQ(one_of_eight.threads, 8u);
  EXPECT_EQ(one_of_eight.memory_budget, 8 * kGib);
}

TEST(HostShareTest, ARankHasAtLeastOneThread) {
  EXPECT_EQ(ShareOfHost(8, {.cores = 2, .memory_bytes = kGib}).threads, 1u);
  EXPECT_EQ(ShareOfHost(0, {.cores = 2, .memory_bytes = kGib}).threads, 2u);
}

}  // namespace
}  // namespace penstock
