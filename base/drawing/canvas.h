// A picture to draw on. Coordinates are in pixels from the upper left corner.
#ifndef PENSTOCK_BASE_DRAWING_CANVAS_H_
#define PENSTOCK_BASE_DRAWING_CANVAS_H_

#include <cstdint>
#include <utility>

#include "absl/strings/string_view.h"
#include "base/drawing/picture.h"

namespace penstock {

struct Color {
  uint8_t red = 0;
  uint8_t green = 0;
  uint8_t blue = 0;

  bool operator==(const Color&) const = default;
};

// Mixes two colours: `share` of `b`, and the rest of `a`. REQUIRES: share is from 0 to 1.
Color Mix(Color a, Color b, double share);

struct Rect {
  int left = 0;
  int top = 0;
  int width = 0;
  int height = 0;
};

// Drawing beyond the edges has no effect. Not thread-safe.
class Canvas {
 public:
  // REQUIRES: width and height are above 0.
  Canvas(int width, int height, Color background);

  int width() const { return static_cast<int>(picture_.width); }
  int height() const { return static_cast<int>(picture_.height); }
  const Picture& picture() const { return picture_; }
  Picture Take() && { return std::move(picture_); }

  void Fill(const Rect& rect, Color color);
  // Draws the outermost pixels of the rectangle.
  void Frame(const Rect& rect, Color color);
  // Draws each pixel of `picture` as `zoom` x `zoom` pixels. REQUIRES: zoom is above 0.
  void Draw(const Picture& picture, int left, int top, int zoom = 1);
  // Draws one line of UTF-8 text. `top` is the top of its capital letters; `scale` is the size of a
  // pixel of the font.
  void Text(absl::string_view text, int left, int top, int scale, Color color);
  // Like Text(), but the line is read from bottom to top. `left` is the position of the tops of its
  // capital letters.
  void TextUp(absl::string_view text, int left, int bottom, int scale, Color color);

 private:
  // Calls `plot` with the position of each pixel of a line of text, relative to the start of the
  // line, and with its coverage from 0 to 255.
  template <typename Plot>
  static void ForEachPixel(absl::string_view text, int scale, const Plot& plot);
  void Blend(int x, int y, Color color, uint8_t cover);
  Rect Clipped(const Rect& rect) const;

  Picture picture_;  // RGB.
};

}  // namespace penstock

#endif  // PENSTOCK_BASE_DRAWING_CANVAS_H_
