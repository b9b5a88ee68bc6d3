#include "base/drawing/font.h"

#include <set>
#include <string>

#include "absl/strings/str_cat.h"
#include "base/drawing/canvas.h"
#include "base/drawing/glyph_mask.h"
#include "base/drawing/text.h"
#include "gtest/gtest.h"

namespace penstock {
namespace {

// The rows of `text` as they are drawn, one string for each.
std::string Rendered(const std::string& text) {
  Canvas canvas(TextWidth(text, 1), kGlyphRows, {255, 255, 255});
  canvas.Text(text, 0, 0, 1, {});
  std::string rows = "\n";
  for (int y = 0; y < canvas.height(); ++y) {
    for (int x = 0; x < canvas.width(); ++x) {
      const bool ink = *canvas.picture().at(static_cast<size_t>(x), static_cast<size_t>(y)) == 0;
      rows += ink ? '#' : '.';
    }
    rows += '\n';
  }
  return rows;
}

TEST(GlyphTest, NothingIsBlackOutsideIt) {
  Glyph glyph{.width = 2};
  glyph.rows.fill(0xff);  // Also where the glyph has no column.
  EXPECT_TRUE(glyph.at(1, kGlyphRows - 1));
  EXPECT_FALSE(glyph.at(2, 0) || glyph.at(-1, 0) || glyph.at(0, -1) || glyph.at(0, kGlyphRows));
}

// The rows of the mask from `row` on: one digit for each pixel, 0 to 9 for its cover.
std::string Digits(const GlyphMask& mask, int row, int rows) {
  std::string digits;
  for (int y = row; y < row + rows; ++y) {
    for (int x = 0; x < mask.width; ++x) digits += absl::StrCat(mask.at(x, y) * 9 / 255);
    digits += '\n';
  }
  return digits;
}

// Two pixels that touch at a corner. Scale2x joins them, so the scaled glyph is the same after a
// turn by half a circle, and is no staircase.
TEST(GlyphMaskTest, CornersAreRounded) {
  Glyph glyph{.width = 2};
  glyph.rows[3] = 0b01;
  glyph.rows[4] = 0b10;
  EXPECT_EQ(Digits(MaskOf(glyph, 1), 2, 4), "00\n90\n09\n00\n");
  EXPECT_EQ(Digits(MaskOf(glyph, 2), 5, 6), "0000\n6610\n6971\n1796\n0166\n0000\n");
}

TEST(FontTest, IsDrawnAsItIsTyped) {
  EXPECT_EQ(Rendered("Aj 1!"), R"(
..#.....#.......#...#
.#.#...........##...#
#...#...#.......#...#
#...#...#.......#...#
#####...#.......#...#
#...#...#.......#....
#...#...#......###..#
........#............
......##.............
)");
}

TEST(FontTest, HasADifferentGlyphForEachCharacter) {
  std::set<std::array<uint8_t, kGlyphRows>> seen;
  for (char32_t c = '!'; c <= '~'; ++c) {
    const Glyph& glyph = GlyphOf(c);
    EXPECT_TRUE(seen.insert(glyph.rows).second) << static_cast<char>(c);
    EXPECT_GE(glyph.width, 1);
    EXPECT_LE(glyph.width, 5);
  }
  EXPECT_EQ(seen.count({}), 0u);
}

TEST(FontTest, OnlyDescendersGoBelowTheLine) {
  for (char32_t c = ' '; c <= '~'; ++c) {
    const bool below = GlyphOf(c).rows[7] != 0 || GlyphOf(c).rows[8] != 0;
    EXPECT_EQ(below, std::string(",;_gjpqy|").find(static_cast<char>(c)) != std::string::npos)
        << static_cast<char>(c);
  }
}

TEST(FontTest, OtherCharactersAreABox) {
  for (const char32_t c : {U'\n', U'\x7f', U'ß', U'猫'}) {
    EXPECT_EQ(GlyphOf(c).rows, GlyphOf(0xfffd).rows);
    EXPECT_EQ(GlyphOf(c).width, 5);
  }
}

}  // namespace
}  // namespace penstock
