// Turns and mirrors pixels as EXIF says.
#ifndef PENSTOCK_RECORDS_IMAGE_ORIENTATION_H_
#define PENSTOCK_RECORDS_IMAGE_ORIENTATION_H_

#include <cstdint>

#include "records/image/pixels.h"

namespace penstock {

// Orientations 5 to 8 exchange width and height.
constexpr bool ExchangesSides(int orientation) { return orientation >= 5; }

// Writes `source`, stored with `orientation` (1 to 8), upright to `out`, which has room for
// source.bytes() and does not overlap it. Returns `out` with its shape.
PixelView ApplyOrientation(const PixelView& source, int orientation, uint8_t* out);

}  // namespace penstock

#endif  // PENSTOCK_RECORDS_IMAGE_ORIENTATION_H_
