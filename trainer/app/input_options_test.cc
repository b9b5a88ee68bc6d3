#include "trainer/app/input_options.h"

#include "gtest/gtest.h"

namespace penstock {
namespace {

constexpr uint64_t kGiB = uint64_t{1} << 30;

RankInfo OneOf(uint32_t local_size) { return {.world_size = 8, .local_size = local_size}; }

TEST(HalveForEvaluationTest, HalvesTheMemory) {
  LoaderOptions loader;
  loader.local_memory_budget = 2 * kGiB;
  HalveForEvaluation(loader);
  EXPECT_EQ(loader.local_memory_budget, kGiB);
}

TEST(ToLoaderOptionsTest, LocalIsShared) {
  TrainerOptions options;
  options.rank = OneOf(1);
  const uint64_t alone = ToLoaderOptions(options, nullptr, {}).local_memory_budget;
  options.rank = OneOf(4);
  EXPECT_EQ(ToLoaderOptions(options, nullptr, {}).local_memory_budget, alone / 4);
  options.source.servers = "a:1";
  EXPECT_EQ(ToLoaderOptions(options, nullptr, {}).local_memory_budget, 0u);
}

}  // namespace
}  // namespace penstock
