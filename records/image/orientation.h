// Turns and mirrors pixels as EXIF says.
#ifndef PENSTOCK_RECORDS_IMAGE_ORIENTATION_H_
#define PENSTOCK_RECORDS_IMAGE_ORIENTATION_H_

#include <cstdint>

#include "records/image/geometry.h"
#include "records/image/pixels.h"

namespace penstock {

// Whether the orientation (1 to 8) exchanges width and height. Orientations 5 to 8 do.
constexpr bool ExchangesSides(int orientation) { return orientation >= 5; }

// Says which sides of the upright picture lie at the end of the stored rows or columns.
struct FarSides {
  bool left = false;
  bool top = false;
};
FarSides FarSidesOf(int orientation);

// Converts a rectangle between coordinates of the upright picture and of the picture as stored.
// `stored` is the size of the picture as stored; `orientation` is 1 to 8.
CropRect StoredRect(const CropRect& upright, const Size& stored, int orientation);
CropRect UprightRect(const CropRect& rect, const Size& stored, int orientation);

// Writes `source`, which is stored with `orientation` (1 to 8), upright to `out`. `out` has room
// for source.bytes() bytes and must not overlap `source`. Returns a view of `out` with the new
// shape.
PixelView ApplyOrientation(const PixelView& source, int orientation, uint8_t* out);

}  // namespace penstock

#endif  // PENSTOCK_RECORDS_IMAGE_ORIENTATION_H_
