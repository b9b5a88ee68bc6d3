#include "client/loader/host_share.h"

#include <gtest/gtest.h>

namespace penstock {
namespace {

constexpr uint64_t kGib = uint64_t{1} << 30;

LoaderOptions Shared(uint32_t ranks, const MachineLimits& machine, LoaderOptions options = {}) {
  ShareHost(ranks, machine, options);
  return options;
}

TEST(HostShareTest, EightRanksTogetherTakeWhatOneTakesAlone) {
  const MachineLimits machine = {.cores = 64, .memory_bytes = 256 * kGib};
  const LoaderOptions alone = Shared(1, machine);
  const LoaderOptions one_of_eight = Shared(8, machine);
  EXPECT_EQ(alone.local_threads, 64u);
  EXPECT_EQ(alone.local_memory_budget, 64 * kGib);
  EXPECT_EQ(one_of_eight.local_threads, 8u);
  EXPECT_EQ(one_of_eight.local_memory_budget, 8 * kGib);
}

TEST(HostShareTest, ARankHasAtLeastOneThread) {
  const MachineLimits machine = {.cores = 2, .memory_bytes = kGib};
  EXPECT_EQ(Shared(8, machine).local_threads, 1u);
  EXPECT_EQ(Shared(0, machine).local_threads, 2u);
}

TEST(HostShareTest, GivenValuesStay) {
  LoaderOptions given;
  given.local_threads = 3;
  given.local_memory_budget = kGib;
  const LoaderOptions options = Shared(8, {.cores = 64, .memory_bytes = 256 * kGib}, given);
  EXPECT_EQ(options.local_threads, 3u);
  EXPECT_EQ(options.local_memory_budget, kGib);
}

TEST(HostShareTest, ServersAreNotShared) {
  LoaderOptions given;
  given.servers = "a:1";
  const LoaderOptions options = Shared(8, {.cores = 64, .memory_bytes = 256 * kGib}, given);
  EXPECT_EQ(options.local_threads, 0u);
  EXPECT_EQ(options.local_memory_budget, 0u);
}

}  // namespace
}  // namespace penstock
