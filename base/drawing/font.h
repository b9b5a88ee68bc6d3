// The font for labels in pictures. Its glyphs are typed in font.cc, because a machine that serves
// records often has no font files, and FreeType would be one more library in the static programs.
#ifndef PENSTOCK_BASE_DRAWING_FONT_H_
#define PENSTOCK_BASE_DRAWING_FONT_H_

#include <array>
#include <cstddef>
#include <cstdint>

namespace penstock {

// Capital letters and digits fill the first 7 rows, descenders the last 2.
inline constexpr int kCapitalRows = 7;
inline constexpr int kGlyphRows = 9;
// Empty columns between two glyphs.
inline constexpr int kGlyphGap = 1;

struct Glyph {
  int width = 0;                           // At most 5.
  std::array<uint8_t, kGlyphRows> rows{};  // Bit i is column i.

  bool at(int column, int row) const {
    return column >= 0 && column < width && row >= 0 && row < kGlyphRows &&
           (rows[static_cast<size_t>(row)] >> column & 1) != 0;
  }
};

// The font has the printable ASCII characters. Any other character is drawn as an empty box.
const Glyph& GlyphOf(char32_t character);

}  // namespace penstock

#endif  // PENSTOCK_BASE_DRAWING_FONT_H_
