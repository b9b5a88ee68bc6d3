#include "cli/sheet/sheet_layout.h"

#include "absl/strings/str_cat.h"
#include "cli/sheet/sheet_drawing.h"
#include "cli/sheet/shown_size.h"
#include "cli/sheet/testing/test_images.h"
#include "gtest/gtest.h"

namespace penstock {
namespace {

ContactSheet SheetOf(size_t cells, uint32_t width, uint32_t height, size_t pictures = 1) {
  ContactSheet sheet{.title = "data", .subtitle = "records", .cells = {}};
  for (size_t i = 0; i < cells; ++i) {
    SheetCell& cell = sheet.cells.emplace_back(SheetCell{.record = i});
    for (size_t k = 0; k < pictures; ++k) {
      cell.pictures.push_back({absl::StrCat("p", k), TestPicture(width, height)});
    }
  }
  return sheet;
}

bool Within(const Rect& inner, const Rect& outer) {
  return inner.left >= outer.left && inner.top >= outer.top &&
         inner.left + inner.width <= outer.left + outer.width &&
         inner.top + inner.height <= outer.top + outer.height;
}

bool Apart(const Rect& a, const Rect& b) {
  return a.left + a.width <= b.left || b.left + b.width <= a.left || a.top + a.height <= b.top ||
         b.top + b.height <= a.top;
}

TEST(SheetLayoutTest, CardsLieOnTheSheetAndApart) {
  for (const size_t cells : {1, 2, 7, 36, 100}) {
    for (const size_t pictures : {1, 3}) {
      const ContactSheet sheet = SheetOf(cells, 40, 70, pictures);
      const SheetLayout layout(sheet);
      const Rect whole = {0, 0, layout.width(), layout.height()};
      for (size_t i = 0; i < cells; ++i) {
        EXPECT_TRUE(Within(layout.Card(i), whole));
        for (size_t k = 0; k < i; ++k) EXPECT_TRUE(Apart(layout.Card(i), layout.Card(k)));
        for (size_t k = 0; k < pictures; ++k) {
          EXPECT_TRUE(Within(layout.PictureBox(i, k), layout.Card(i)));
          EXPECT_TRUE(k == 0 || Apart(layout.PictureBox(i, k), layout.PictureBox(i, k - 1)));
        }
      }
    }
  }
}

TEST(SheetLayoutTest, LeavesNoPlacesEmptyWhereItCan) {
  const SheetLayout layout(SheetOf(36, 100, 100));
  EXPECT_EQ(layout.Card(35).left + layout.Card(35).width + SheetLayout::kMargin, layout.width());
}

TEST(SheetLayoutTest, ASheetOfNothingHasATitle) {
  const Picture picture = DrawSheet({.title = "no records at all", .subtitle = "", .cells = {}});
  EXPECT_GT(picture.width, 100u);
}

TEST(SheetDrawingTest, ShowsThePixelsOfEachPicture) {
  ContactSheet sheet = SheetOf(1, 2, 2);
  sheet.cells[0].pictures[0].picture = {2, 2, 3, {250, 0, 1, 0, 250, 2, 0, 3, 250, 9, 9, 9}};
  const Picture drawn = DrawSheet(sheet);
  const Rect box = SheetLayout(sheet).PictureBox(0, 0);
  const auto at = [&](int x, int y) {
    const uint8_t* pixel =
        drawn.at(static_cast<size_t>(box.left + x), static_cast<size_t>(box.top + y));
    return Color{pixel[0], pixel[1], pixel[2]};
  };
  EXPECT_EQ(at(0, 0), (Color{250, 0, 1}));
  EXPECT_EQ(at(111, 111), (Color{250, 0, 1}));
  EXPECT_EQ(at(112, 111), (Color{0, 250, 2}));
  EXPECT_EQ(at(111, 112), (Color{0, 3, 250}));
  EXPECT_EQ(at(223, 223), (Color{9, 9, 9}));
}

TEST(SheetDrawingTest, LongTextsStayOnTheirCards) {
  ContactSheet sheet = SheetOf(2, 10, 10);
  sheet.cells[0].label = std::string(500, 'w');
  sheet.cells[0].note = std::string(500, 'w');
  sheet.cells[1].pictures.clear();
  sheet.cells[1].problem = std::string(5000, 'w');
  const Picture with = DrawSheet(sheet);
  sheet.cells[0].label = sheet.cells[0].note = sheet.cells[1].problem = ".";
  const Picture without = DrawSheet(sheet);
  ASSERT_EQ(with.pixels.size(), without.pixels.size());
  const SheetLayout layout(sheet);
  for (size_t y = 0; y < with.height; ++y) {
    for (size_t x = 0; x < with.width; ++x) {
      const Rect pixel = {static_cast<int>(x), static_cast<int>(y), 1, 1};
      if (Within(pixel, layout.Card(0)) || Within(pixel, layout.Card(1))) continue;
      ASSERT_EQ(*with.at(x, y), *without.at(x, y)) << x << " " << y;
    }
  }
}

TEST(ShownSizeTest, EnlargesByWholeFactorsAndShrinksToFit) {
  const auto size = [](uint32_t width, uint32_t height) {
    const ShownSize shown = ShownSizeOf(width, height, 224);
    return absl::StrCat(shown.width, "x", shown.height, " ", shown.zoom);
  };
  EXPECT_EQ(size(72, 72), "216x216 3");
  EXPECT_EQ(size(224, 100), "224x100 1");
  EXPECT_EQ(size(225, 225), "224x224 0");
  EXPECT_EQ(size(3000, 2000), "224x149 0");
  EXPECT_EQ(size(3000, 1), "224x1 0");
  EXPECT_EQ(size(1, 1), "224x224 224");
}

TEST(ShownSizeTest, AShrunkPictureIsTheAverageOfItsPixels) {
  const Picture picture = TestPicture(448, 448, 3);
  const Picture shrunk = ShrunkToFit({picture.pixels.data(), 448, 448, 3}, 224);
  ASSERT_EQ(shrunk.width, 224u);
  ASSERT_EQ(shrunk.height, 224u);
  EXPECT_NEAR(*shrunk.at(112, 5), 128, 2);
  const Picture small = TestPicture(3, 5);
  EXPECT_EQ(ShrunkToFit({small.pixels.data(), 3, 5, 1}, 224).pixels, small.pixels);
}

}  // namespace
}  // namespace penstock
