#include "base/drawing/glyph_mask.h"

#include <utility>

namespace penstock {
namespace {

// A black and white image; white beyond its edges.
struct Bitmap {
  int width;
  int height;
  std::vector<uint8_t> bits;

  Bitmap(int w, int h)
      : width(w), height(h), bits(static_cast<size_t>(w) * static_cast<size_t>(h)) {}
  bool at(int x, int y) const {
    return x >= 0 && x < width && y >= 0 && y < height && bits[Index(x, y)] != 0;
  }
  void Set(int x, int y, bool black) { bits[Index(x, y)] = black ? 1 : 0; }
  size_t Index(int x, int y) const { return static_cast<size_t>(y * width + x); }
};

Bitmap Draw(const Glyph& glyph) {
  Bitmap bitmap(glyph.width, kGlyphRows);
  for (int y = 0; y < bitmap.height; ++y) {
    for (int x = 0; x < bitmap.width; ++x) bitmap.Set(x, y, glyph.at(x, y));
  }
  return bitmap;
}

// Scale2x: each pixel becomes four. A quarter takes the colour of the two neighbours at its corner
// if these two agree and the other two do not.
Bitmap Doubled(const Bitmap& from) {
  Bitmap to(2 * from.width, 2 * from.height);
  for (int y = 0; y < from.height; ++y) {
    for (int x = 0; x < from.width; ++x) {
      const bool self = from.at(x, y);
      const bool up = from.at(x, y - 1), down = from.at(x, y + 1);
      const bool left = from.at(x - 1, y), right = from.at(x + 1, y);
      const bool turns = up != down && left != right;
      to.Set(2 * x, 2 * y, turns && left == up ? left : self);
      to.Set(2 * x + 1, 2 * y, turns && up == right ? right : self);
      to.Set(2 * x, 2 * y + 1, turns && left == down ? left : self);
      to.Set(2 * x + 1, 2 * y + 1, turns && down == right ? right : self);
    }
  }
  return to;
}

// The share of black among `samples` x `samples` evenly spaced points of one pixel of the mask.
uint8_t Cover(const Bitmap& bitmap, int x, int y, int scale, int zoom) {
  constexpr int kSamples = 4;
  int black = 0;
  for (int i = 0; i < kSamples; ++i) {
    for (int k = 0; k < kSamples; ++k) {
      const int column = (2 * (x * kSamples + k) + 1) * zoom / (2 * kSamples * scale);
      const int row = (2 * (y * kSamples + i) + 1) * zoom / (2 * kSamples * scale);
      black += bitmap.at(column, row) ? 1 : 0;
    }
  }
  return static_cast<uint8_t>(black * 255 / (kSamples * kSamples));
}

}  // namespace

GlyphMask MaskOf(const Glyph& glyph, int scale) {
  Bitmap bitmap = Draw(glyph);
  int zoom = 1;
  for (; scale > 1 && zoom < 8; zoom *= 2) bitmap = Doubled(bitmap);
  GlyphMask mask{glyph.width * scale, kGlyphRows * scale, {}};
  for (int y = 0; y < mask.height; ++y) {
    for (int x = 0; x < mask.width; ++x) mask.cover.push_back(Cover(bitmap, x, y, scale, zoom));
  }
  return mask;
}

}  // namespace penstock
