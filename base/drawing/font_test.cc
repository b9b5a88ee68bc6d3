#include "base/drawing/font.h"

#include <set>
#include <string>

#include "base/drawing/canvas.h"
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
