// Scales glyphs up and smooths their edges.
#ifndef PENSTOCK_BASE_DRAWING_GLYPH_MASK_H_
#define PENSTOCK_BASE_DRAWING_GLYPH_MASK_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/drawing/font.h"

namespace penstock {

// How much of each pixel a glyph covers: 0 is nothing, 255 is all of it.
struct GlyphMask {
  int width = 0;
  int height = 0;
  std::vector<uint8_t> cover;  // [height][width]

  uint8_t at(int x, int y) const { return cover[static_cast<size_t>(y * width + x)]; }
};

// Each pixel of the glyph becomes `scale` x `scale` pixels. If `scale` is above 1, corners where
// strokes turn are rounded by the rule of Scale2x, and edges are antialiased.
GlyphMask MaskOf(const Glyph& glyph, int scale);

}  // namespace penstock

#endif  // PENSTOCK_BASE_DRAWING_GLYPH_MASK_H_
