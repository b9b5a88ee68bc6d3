// Lines of text in pictures: how wide they are, and how they are made to fit.
#ifndef PENSTOCK_BASE_DRAWING_TEXT_H_
#define PENSTOCK_BASE_DRAWING_TEXT_H_

#include <cstddef>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "base/drawing/font.h"

namespace penstock {

// Characters of UTF-8. A byte that belongs to none becomes U+FFFD.
std::u32string ReadUtf8(absl::string_view text);

// Pixels from the first column to the last. `scale` is the size of a pixel of the font.
int TextWidth(absl::string_view text, int scale);

// From the top of capitals to the top of the next line's.
constexpr int LineHeight(int scale) { return (kGlyphRows + 3) * scale; }

// `text`, or its beginning and "..." if it is wider than `width`.
std::string Shortened(absl::string_view text, int scale, int width);

// `text` in lines of at most `width`, broken at spaces if there are any. What does not fit into
// `lines` lines is cut, and the last one ends with "...".
std::vector<std::string> Wrapped(absl::string_view text, int scale, int width, size_t lines);

}  // namespace penstock

#endif  // PENSTOCK_BASE_DRAWING_TEXT_H_
