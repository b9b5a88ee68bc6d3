#include "records/engine/request_rows.h"

#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace penstock {
namespace {

using ::testing::ElementsAreArray;

std::vector<uint64_t> AllRows(const RowPattern& pattern) {
  std::vector<uint64_t> rows;
  for (uint32_t i = 0; i < pattern.count; ++i) {
    for (uint32_t r = 0; r < pattern.rows; ++r) {
      rows.push_back(pattern.first_row + uint64_t{i} * pattern.stride + r);
    }
  }
  return rows;
}

TEST(RequestRowsTest, PartsOfBlocksAreAllRowsInTheirOrder) {
  for (const RowPattern& pattern : std::vector<RowPattern>{{0, 100, 0, 1},
                                                           {13, 250, 0, 1},
                                                           {5, 16, 48, 20},
                                                           {0, 16, 16, 30},
                                                           {31, 40, 77, 9},
                                                           {7, 1, 2, 100}}) {
    for (uint32_t block_rows : {1u, 7u, 16u, 64u, 1000u}) {
      std::vector<uint64_t> rows;
      for (uint64_t begin = 0; begin < pattern.size();) {
        const RowBlock block = BlockOf(pattern, begin, block_rows, 1003);
        EXPECT_EQ(block.first_row % block_rows, 0u);
        EXPECT_LE(block.first_row + block.rows, 1003u);
        const uint32_t n = RowsInBlock(pattern, begin, block);
        ASSERT_GT(n, 0u);
        ForEachRun(pattern, begin, n, [&](uint64_t row, uint64_t run) {
          EXPECT_GE(row, block.first_row);
          EXPECT_LE(row + run, block.first_row + block.rows);
          for (uint64_t i = 0; i < run; ++i) rows.push_back(row + i);
        });
        begin += n;
        if (begin == pattern.size()) break;
        EXPECT_NE(BlockOf(pattern, begin, block_rows, 1003).first_row, block.first_row);
      }
      EXPECT_THAT(rows, ElementsAreArray(AllRows(pattern)));
    }
  }
}

}  // namespace
}  // namespace penstock
