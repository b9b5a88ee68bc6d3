// Measures text in pictures and makes it fit.
#ifndef PENSTOCK_BASE_DRAWING_TEXT_H_
#define PENSTOCK_BASE_DRAWING_TEXT_H_

#include <cstddef>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "base/drawing/font.h"

namespace penstock {

// Decodes UTF-8. A byte that belongs to no character becomes U+FFFD.
std::u32string ReadUtf8(absl::string_view text);

// Width in pixels, from the first column to the last. `scale` is the size of a pixel of the font.
int TextWidth(absl::string_view text, int scale);

// Distance in pixels from the top of the capital letters of one line to that of the next.
constexpr int LineHeight(int scale) { return (kGlyphRows + 3) * scale; }

// Returns `text` if it is at most `width` pixels wide. Otherwise returns its beginning and "...".
std::string Shortened(absl::string_view text, int scale, int width);

// Breaks `text` into lines of at most `width` pixels, at spaces where there are any. Text that does
// not fit into `lines` lines is cut, and the last line then ends with "...".
std::vector<std::string> Wrapped(absl::string_view text, int scale, int width, size_t lines);

}  // namespace penstock

#endif  // PENSTOCK_BASE_DRAWING_TEXT_H_
