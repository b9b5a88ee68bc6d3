#include "base/drawing/font.h"

#include <cstddef>

#include "absl/strings/string_view.h"

namespace penstock {
namespace {

constexpr char32_t kFirst = ' ';
constexpr char32_t kLast = '~';
constexpr size_t kGlyphs = kLast - kFirst + 1;
constexpr size_t kGlyphsOfStrip = 12;
constexpr size_t kColumns = 6;  // Width of a glyph with the space behind it.

// Strips of 12 glyphs, 9 rows each. The font is proportional: a glyph is as wide as its drawing,
// except the space and the digits.
constexpr absl::string_view kStrips[] = {
    //   ! " # $ % & ' ( ) * +
    "      #     # #    # #    #   ##     ##   #       #   #                 ",
    "      #     # #    # #   #### ##  # #  #  #      #     #      #     #   ",
    "      #     # #   ##### # #      #  # #   #     #       #   # # #   #   ",
    "      #            # #   ###    #    #          #       #    ###  ##### ",
    "      #           #####   # #  #    # # #       #       #   # # #   #   ",
    "                   # #  ####  #  ## #  #         #     #      #     #   ",
    "      #            # #    #      ##  ## #         #   #                 ",
    "                                                                        ",
    "                                                                        ",
    // , - . / 0 1 2 3 4 5 6 7
    "                      #  ###    #    ###   ###     #  #####   ##  ##### ",
    "                      # #   #  ##   #   # #   #   ##  #      #        # ",
    "                     #  #   #   #       #     #  # #  ####  #        #  ",
    "      ####          #   # # #   #      #    ##  #  #      # ####     #  ",
    "                   #    #   #   #     #       # #####     # #   #   #   ",
    " #                #     #   #   #    #    #   #    #  #   # #   #   #   ",
    " #          #     #      ###   ###  #####  ###     #   ###   ###    #   ",
    "#                                                                       ",
    "                                                                        ",
    // 8 9 : ; < = > ? @ A B C
    " ###   ###                 #        #      ###   ###    #   ####   ###  ",
    "#   # #   #               #          #    #   # #   #  # #  #   # #   # ",
    "#   # #   # #      #     #    ####    #       # # ### #   # #   # #     ",
    " ###   ####             #              #     #  # # # #   # ####  #     ",
    "#   #     #              #    ####    #     #   # ### ##### #   # #     ",
    "#   #    #  #      #      #          #          #     #   # #   # #   # ",
    " ###   ##          #       #        #       #    #### #   # ####   ###  ",
    "                  #                                                     ",
    "                                                                        ",
    // D E F G H I J K L M N O
    "####  ##### #####  ###  #   # ###      #  #   # #     #   # #   #  ###  ",
    "#   # #     #     #   # #   #  #       #  #  #  #     ## ## ##  # #   # ",
    "#   # #     #     #     #   #  #       #  # #   #     # # # ##  # #   # ",
    "#   # ####  ####  # ### #####  #       #  ##    #     # # # # # # #   # ",
    "#   # #     #     #   # #   #  #       #  # #   #     #   # #  ## #   # ",
    "#   # #     #     #   # #   #  #    #  #  #  #  #     #   # #  ## #   # ",
    "####  ##### #      #### #   # ###    ##   #   # ##### #   # #   #  ###  ",
    "                                                                        ",
    "                                                                        ",
    // P Q R S T U V W X Y Z [
    "####   ###  ####   #### ##### #   # #   # #   # #   # #   # ##### ##    ",
    "#   # #   # #   # #       #   #   # #   # #   # #   # #   #     # #     ",
    "#   # #   # #   # #       #   #   # #   # #   #  # #   # #     #  #     ",
    "####  #   # ####   ###    #   #   # #   # # # #   #     #     #   #     ",
    "#     # # # # #       #   #   #   #  # #  # # #  # #    #    #    #     ",
    "#     #  #  #  #      #   #   #   #  # #  ## ## #   #   #   #     #     ",
    "#      ## # #   # ####    #    ###    #   #   # #   #   #   ##### ##    ",
    "                                                                        ",
    "                                                                        ",
    // \ ] ^ _ ` a b c d e f g
    "#     ##      #         #           #               #         ##        ",
    "#      #     # #         #          #               #        #          ",
    " #     #    #   #              ###  ####   ###   ####  ###  ####   #### ",
    "  #    #                          # #   # #     #   # #   #  #    #   # ",
    "   #   #                       #### #   # #     #   # #####  #    #   # ",
    "    #  #                      #   # #   # #     #   # #      #    #   # ",
    "    # ##                       #### ####   ###   ####  ###   #     #### ",
    "                  #####                                               # ",
    "                                                                   ###  ",
    // h i j k l m n o p q r s
    "#     #       #   #     #                                               ",
    "#                 #     #                                               ",
    "####  #       #   #  #  #     ####  ####   ###  ####   #### # ##   ###  ",
    "#   # #       #   # #   #     # # # #   # #   # #   # #   # ##    #     ",
    "#   # #       #   ##    #     # # # #   # #   # #   # #   # #      ##   ",
    "#   # #       #   # #   #     # # # #   # #   # #   # #   # #        #  ",
    "#   # #       #   #  #   #    # # # #   #  ###  ####   #### #     ###   ",
    "              #                                 #         #             ",
    "            ##                                  #         #             ",
    // t u v w x y z { | } ~
    " #                                          #   #     #                 ",
    " #                                         #    #      #                ",
    "####  #   # #   # #   # #   # #   # ####   #    #      #     #          ",
    " #    #   # #   # #   #  # #  #   #    #  #     #       #   # # #       ",
    " #    #   # #   # # # #   #   #   #  ##    #    #      #       #        ",
    " #    #   #  # #  # # #  # #  #   # #      #    #      #                ",
    "  ##   ####   #    # #  #   #  #### ####    #   #     #                 ",
    "                                  #             #                       ",
    "                               ###                                      ",
};

constexpr int kSpaceWidth = 3;
constexpr int kDigitWidth = 5;

constexpr Glyph ReadGlyph(size_t index) {
  Glyph glyph;
  const size_t column = index % kGlyphsOfStrip * kColumns;
  for (size_t row = 0; row < kGlyphRows; ++row) {
    const absl::string_view strip = kStrips[index / kGlyphsOfStrip * kGlyphRows + row];
    for (size_t i = 0; i + 1 < kColumns; ++i) {
      if (strip[column + i] != '#') continue;
      glyph.rows[row] = static_cast<uint8_t>(glyph.rows[row] | 1 << i);
      if (glyph.width <= static_cast<int>(i)) glyph.width = static_cast<int>(i) + 1;
    }
  }
  return glyph;
}

constexpr std::array<Glyph, kGlyphs> ReadGlyphs() {
  std::array<Glyph, kGlyphs> glyphs;
  for (size_t i = 0; i < kGlyphs; ++i) glyphs[i] = ReadGlyph(i);
  glyphs[0].width = kSpaceWidth;
  for (char32_t digit = '0'; digit <= '9'; ++digit) glyphs[digit - kFirst].width = kDigitWidth;
  return glyphs;
}

constexpr std::array<Glyph, kGlyphs> kFont = ReadGlyphs();
constexpr Glyph kBox = {5, {0x1f, 0x11, 0x11, 0x11, 0x11, 0x11, 0x1f, 0, 0}};

}  // namespace

const Glyph& GlyphOf(char32_t character) {
  return character < kFirst || character > kLast ? kBox : kFont[character - kFirst];
}

}  // namespace penstock
