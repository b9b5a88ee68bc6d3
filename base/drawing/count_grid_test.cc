#include "base/drawing/count_grid.h"

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"

namespace penstock {
namespace {

CountGrid GridOf(size_t rows, size_t columns) {
  CountGrid grid{"confusion", "10 of 20", "true class", "predicted class", {}, {}, {}};
  for (size_t i = 0; i < rows; ++i) grid.row_names.push_back(absl::StrCat("r", i));
  for (size_t i = 0; i < columns; ++i) grid.column_names.push_back(absl::StrCat("c", i));
  grid.counts.resize(rows * columns);
  return grid;
}

// The number of pixels that are darker than a line of the grid.
int DarkPixels(const Picture& picture) {
  int dark = 0;
  for (size_t y = 0; y < picture.height; ++y) {
    for (size_t x = 0; x < picture.width; ++x) dark += *picture.at(x, y) < 200 ? 1 : 0;
  }
  return dark;
}

TEST(CountGridTest, ShadesACellByItsShareOfTheRow) {
  CountGrid grid = GridOf(2, 2);
  const int empty = DarkPixels(DrawCountGrid(grid));
  grid.counts = {1, 0, 0, 0};
  const int one = DarkPixels(DrawCountGrid(grid)) - empty;
  grid.counts = {1, 0, 0, 1};
  const int both = DarkPixels(DrawCountGrid(grid)) - empty;
  EXPECT_GT(one, 1000);
  EXPECT_EQ(both, 2 * one);
  grid.counts = {1, 9999, 0, 0};
  EXPECT_LT(DarkPixels(DrawCountGrid(grid)) - empty, 2 * one + 2000);
}

TEST(CountGridTest, GrowsWithItsNamesAndCells) {
  const Picture small = DrawCountGrid(GridOf(2, 3));
  const Picture wide = DrawCountGrid(GridOf(2, 30));
  EXPECT_GT(wide.width, small.width);
  EXPECT_EQ(wide.height, small.height);
  CountGrid named = GridOf(2, 3);
  named.column_names[1] = "a name that needs room";
  EXPECT_GT(DrawCountGrid(named).height, small.height);
  named.column_names[1] = std::string(5000, 'w');
  EXPECT_LT(DrawCountGrid(named).height, 1000u);
}

TEST(CountGridTest, ManyCellsAreSmallAndHaveNoNumbers) {
  const Picture many = DrawCountGrid(GridOf(100, 100));
  EXPECT_LT(many.width, 2'300u);
  EXPECT_GT(many.width, 2'000u);
  EXPECT_LT(DrawCountGrid(GridOf(1000, 2)).height, 4'300u);
}

}  // namespace
}  // namespace penstock
