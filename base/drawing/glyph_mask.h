// Glyphs larger than they were drawn, with smooth edges.
#ifndef PENSTOCK_BASE_DRAWING_GLYPH_MASK_H_
#define PENSTOCK_BASE_DRAWING_GLYPH_MASK_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/drawing/font.h"

namespace penstock {

// How much of each pixel a glyph covers, from 0 to 255.
struct GlyphMask {
  int width = 0;
  int height = 0;
  std::vector<uint8_t> cover;  // [height][width]

  uint8_t at(int x, int y) const { return cover[static_cast<size_t>(y * width + x)]; }
};

// A pixel of the glyph becomes `scale` x `scale` pixels. Above 1, its corners are rounded by the
// rule of Scale2x where strokes turn, and edges are antialiased.
GlyphMask MaskOf(const Glyph& glyph, int scale);

}  // namespace penstock

#endif  // PENSTOCK_BASE_DRAWING_GLYPH_MASK_H_
