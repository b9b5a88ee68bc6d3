#include "client/fetch/fetch_shape.h"

#include <vector>

#include "base/counter_rng.h"
#include "gtest/gtest.h"

namespace penstock {
namespace {

class FetchShapeTest : public ::testing::Test {
 protected:
  void Want(uint32_t first_row, uint32_t rows) {
    wanted_.PushBack({.first_row = first_row, .rows = rows});
  }
  void ExpectShape(uint32_t max_rows, const FetchShape& expected) {
    const FetchShape shape = TakeShape(wanted_, max_rows);
    EXPECT_EQ(shape.first_row, expected.first_row);
    EXPECT_EQ(shape.rows, expected.rows);
    EXPECT_EQ(shape.stride, expected.stride);
    EXPECT_EQ(shape.count, expected.count);
    EXPECT_EQ(shape.num_ranges, expected.num_ranges);
  }

  RangeQueue wanted_;
};

TEST_F(FetchShapeTest, MergesNeighbours) {
  Want(100, 16);
  Want(116, 5);
  Want(121, 11);
  Want(200, 16);
  ExpectShape(40, {.first_row = 100, .rows = 32, .stride = 32, .count = 1, .num_ranges = 3});
}

TEST_F(FetchShapeTest, CountsEqualRunsAtEqualDistances) {
  for (uint32_t row : {10, 74, 138, 202}) Want(row, 16);
  Want(250, 16);
  ExpectShape(100, {.first_row = 10, .rows = 16, .stride = 64, .count = 4, .num_ranges = 4});
}

TEST_F(FetchShapeTest, ARunCutByAStepIsOneRun) {
  Want(10, 16);
  Want(74, 6);
  Want(80, 10);
  Want(138, 15);
  ExpectShape(100, {.first_row = 10, .rows = 16, .stride = 64, .count = 2, .num_ranges = 3});
}

TEST_F(FetchShapeTest, SplitsWhatDoesNotFit) {
  Want(0, 512);
  Want(512, 512);
  ExpectShape(700, {.first_row = 0, .rows = 700, .stride = 700, .count = 1, .num_ranges = 2});
  wanted_.PopFront(2);
  ExpectShape(700, {.first_row = 700, .rows = 324, .stride = 324, .count = 1, .num_ranges = 1});
}

TEST_F(FetchShapeTest, CoversEveryRowOnceInOrderWithinTheLimit) {
  CounterRng rng(4);
  for (int i = 0; i < 2000; ++i) {
    std::vector<uint32_t> rows, covered;
    for (uint32_t row = 0, left = 1 + rng.Below(30); left > 0; --left) {
      row += static_cast<uint32_t>(rng.Below(2) * rng.Below(20));
      const auto count = static_cast<uint32_t>(1 + rng.Below(4) * 4);
      Want(row, count);
      for (uint32_t end = row + count; row < end; ++row) rows.push_back(row);
    }
    const auto max_rows = static_cast<uint32_t>(1 + rng.Below(60));
    while (!wanted_.empty()) {
      const FetchShape shape = TakeShape(wanted_, max_rows);
      ASSERT_LE(shape.total_rows(), max_rows);
      for (uint32_t block = 0; block < shape.count; ++block) {
        for (uint32_t row = 0; row < shape.rows; ++row) {
          covered.push_back(shape.first_row + block * shape.stride + row);
        }
      }
      wanted_.PopFront(shape.num_ranges);
    }
    ASSERT_EQ(covered, rows) << i;
  }
}

}  // namespace
}  // namespace penstock
