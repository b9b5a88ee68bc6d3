#include "base/drawing/canvas.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "base/drawing/font.h"
#include "base/drawing/glyph_mask.h"
#include "base/drawing/text.h"

namespace penstock {
namespace {

uint8_t Mix(uint8_t a, uint8_t b, double share) {
  return static_cast<uint8_t>(std::lround(a + (b - a) * share));
}

Color ColorAt(const Picture& picture, size_t x, size_t y) {
  const uint8_t* pixel = picture.at(x, y);
  return picture.channels == 1 ? Color{pixel[0], pixel[0], pixel[0]}
                               : Color{pixel[0], pixel[1], pixel[2]};
}

}  // namespace

Color Mix(Color a, Color b, double share) {
  return {Mix(a.red, b.red, share), Mix(a.green, b.green, share), Mix(a.blue, b.blue, share)};
}

Canvas::Canvas(int width, int height, Color background) {
  picture_ = {static_cast<uint32_t>(width), static_cast<uint32_t>(height), 3, {}};
  picture_.pixels.resize(size_t{3} * picture_.width * picture_.height);
  Fill({0, 0, width, height}, background);
}

Rect Canvas::Clipped(const Rect& rect) const {
  const int left = std::clamp(rect.left, 0, width());
  const int top = std::clamp(rect.top, 0, height());
  return {left, top, std::clamp(rect.left + rect.width, left, width()) - left,
          std::clamp(rect.top + rect.height, top, height()) - top};
}

void Canvas::Fill(const Rect& rect, Color color) {
  const Rect part = Clipped(rect);
  for (int y = part.top; y < part.top + part.height; ++y) {
    for (int x = part.left; x < part.left + part.width; ++x) Blend(x, y, color, 255);
  }
}

void Canvas::Frame(const Rect& rect, Color color) {
  Fill({rect.left, rect.top, rect.width, 1}, color);
  Fill({rect.left, rect.top + rect.height - 1, rect.width, 1}, color);
  Fill({rect.left, rect.top, 1, rect.height}, color);
  Fill({rect.left + rect.width - 1, rect.top, 1, rect.height}, color);
}

void Canvas::Draw(const Picture& picture, int left, int top, int zoom) {
  for (size_t y = 0; y < picture.height; ++y) {
    for (size_t x = 0; x < picture.width; ++x) {
      Fill({left + static_cast<int>(x) * zoom, top + static_cast<int>(y) * zoom, zoom, zoom},
           ColorAt(picture, x, y));
    }
  }
}

template <typename Plot>
void Canvas::ForEachPixel(absl::string_view text, int scale, const Plot& plot) {
  int left = 0;
  for (const char32_t character : ReadUtf8(text)) {
    const GlyphMask mask = MaskOf(GlyphOf(character), scale);
    for (int y = 0; y < mask.height; ++y) {
      for (int x = 0; x < mask.width; ++x) plot(left + x, y, mask.at(x, y));
    }
    left += mask.width + kGlyphGap * scale;
  }
}

void Canvas::Text(absl::string_view text, int left, int top, int scale, Color color) {
  ForEachPixel(text, scale,
               [&](int x, int y, uint8_t cover) { Blend(left + x, top + y, color, cover); });
}

void Canvas::TextUp(absl::string_view text, int left, int bottom, int scale, Color color) {
  ForEachPixel(text, scale,
               [&](int x, int y, uint8_t cover) { Blend(left + y, bottom - 1 - x, color, cover); });
}

void Canvas::Blend(int x, int y, Color color, uint8_t cover) {
  if (cover == 0 || x < 0 || x >= width() || y < 0 || y >= height()) return;
  uint8_t* pixel = picture_.at(static_cast<size_t>(x), static_cast<size_t>(y));
  const Color under = {pixel[0], pixel[1], pixel[2]};
  const Color mixed = cover == 255 ? color : Mix(under, color, cover / 255.0);
  pixel[0] = mixed.red;
  pixel[1] = mixed.green;
  pixel[2] = mixed.blue;
}

}  // namespace penstock
