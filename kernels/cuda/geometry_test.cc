#include "kernels/cuda/geometry.h"

#include <cstdint>
#include <limits>

#include "gtest/gtest.h"

namespace penstock::cuda {
namespace {

TEST(GeometryTest, BlocksCoverTheItemsUpToTheirLimit) {
  EXPECT_EQ(BlocksFor(0), 0u);
  EXPECT_EQ(BlocksFor(1), 1u);
  EXPECT_EQ(BlocksFor(kThreads), 1u);
  EXPECT_EQ(BlocksFor(kThreads + 1), 2u);
  EXPECT_EQ(BlocksFor(kThreads * kMostBlocks), kMostBlocks);
  EXPECT_EQ(BlocksFor(size_t{1} << 50), kMostBlocks);
}

TEST(GeometryTest, PartsCutRowsWithoutGapsOrOverlap) {
  for (size_t rows : {size_t{0}, size_t{1}, size_t{31}, size_t{33}, size_t{1000}, size_t{8191},
                      size_t{16384} * 64, (size_t{1} << 40) + 7}) {
    const unsigned parts = PartsOf(rows);
    ASSERT_GE(parts, 1u);
    ASSERT_LE(parts, kMostParts);
    EXPECT_EQ(FirstOf(rows, parts, 0), 0u);
    EXPECT_EQ(FirstOf(rows, parts, parts), rows);
    for (unsigned p = 0; p < parts; ++p) {
      const size_t size = FirstOf(rows, parts, p + 1) - FirstOf(rows, parts, p);
      EXPECT_GE(size, rows / parts) << rows << " rows, part " << p;
      EXPECT_LE(size, rows / parts + 1) << rows << " rows, part " << p;
    }
  }
}

}  // namespace
}  // namespace penstock::cuda
