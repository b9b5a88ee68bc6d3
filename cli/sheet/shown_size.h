// Chooses how large a picture is shown on a sheet.
#ifndef PENSTOCK_CLI_SHEET_SHOWN_SIZE_H_
#define PENSTOCK_CLI_SHEET_SHOWN_SIZE_H_

#include <cstdint>

#include "base/drawing/picture.h"
#include "records/image/pixels.h"

namespace penstock {

// Each pixel of the picture becomes a square of `zoom` pixels, or the picture is shrunk.
struct ShownSize {
  uint32_t width = 0;
  uint32_t height = 0;
  uint32_t zoom = 1;  // 0 means that the picture is shrunk.
};

// Returns the largest whole multiple of the picture's size with sides of at most `side`. A larger
// picture is shrunk to fit. REQUIRES: the picture is not empty.
ShownSize ShownSizeOf(uint32_t width, uint32_t height, uint32_t side);

// Returns the pixels, shrunk if ShownSizeOf() says so, else copied.
Picture ShrunkToFit(const PixelView& pixels, uint32_t side);

}  // namespace penstock

#endif  // PENSTOCK_CLI_SHEET_SHOWN_SIZE_H_
