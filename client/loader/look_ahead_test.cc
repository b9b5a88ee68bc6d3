#include "client/loader/look_ahead.h"

#include "gtest/gtest.h"

namespace penstock {
namespace {

constexpr uint64_t kMiB = uint64_t{1} << 20;
constexpr uint64_t kManySteps = 1'000'000;

TEST(LookAheadTest, ByDefaultIs64MiBOrFourBatches) {
  EXPECT_EQ(NumSlots(0, 1 * kMiB, kManySteps), 64u);
  EXPECT_EQ(NumSlots(0, 16 * kMiB, kManySteps), 4u);
  EXPECT_EQ(NumSlots(0, 77 * kMiB, kManySteps), 4u);
  EXPECT_EQ(LookAheadBytes(0, 1 * kMiB), 64 * kMiB);
  EXPECT_EQ(LookAheadBytes(0, 77 * kMiB), 308 * kMiB);
}

TEST(LookAheadTest, ThatIsGivenHoldsTwoBatchesAtLeast) {
  EXPECT_EQ(NumSlots(64 * kMiB, 16 * kMiB + 1, kManySteps), 3u);
  EXPECT_EQ(NumSlots(64 * kMiB, 77 * kMiB, kManySteps), 2u);
  EXPECT_EQ(LookAheadBytes(64 * kMiB, 77 * kMiB), 64 * kMiB);
}

TEST(LookAheadTest, HasNoMoreBatchesThanSteps) {
  EXPECT_EQ(NumSlots(0, 1 * kMiB, 3), 3u);
  EXPECT_EQ(NumSlots(0, 1 * kMiB, 1), 2u);
}

TEST(LookAheadTest, EndsAt65536Batches) {
  EXPECT_EQ(NumSlots(0, 1, kManySteps), 65536u);
  EXPECT_EQ(NumSlots(0, 0, kManySteps), 65536u);  // Rows without bytes.
}

}  // namespace
}  // namespace penstock
