// How large a picture is shown on a sheet.
#ifndef PENSTOCK_CLI_SHEET_SHOWN_SIZE_H_
#define PENSTOCK_CLI_SHEET_SHOWN_SIZE_H_

#include <cstdint>

#include "base/drawing/picture.h"
#include "records/image/pixels.h"

namespace penstock {

// Pixels of the picture as squares of `zoom` pixels, or a smaller picture.
struct ShownSize {
  uint32_t width = 0;
  uint32_t height = 0;
  uint32_t zoom = 1;  // 0: it is shrunk.
};

// The largest size with sides of at most `side` that is a whole multiple of the picture's; a larger
// picture is shrunk to fit. REQUIRES: the picture is not empty.
ShownSize ShownSizeOf(uint32_t width, uint32_t height, uint32_t side);

// The pixels, resized where ShownSizeOf() says that they are shrunk, else copied.
Picture ShrunkToFit(const PixelView& pixels, uint32_t side);

}  // namespace penstock

#endif  // PENSTOCK_CLI_SHEET_SHOWN_SIZE_H_
