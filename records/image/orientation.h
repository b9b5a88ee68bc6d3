// Turns and mirrors pixels as EXIF says.
#ifndef PENSTOCK_RECORDS_IMAGE_ORIENTATION_H_
#define PENSTOCK_RECORDS_IMAGE_ORIENTATION_H_

#include <cstdint>

#include "records/image/geometry.h"
#include "records/image/pixels.h"

namespace penstock {

// Orientations 5 to 8 exchange width and height.
constexpr bool ExchangesSides(int orientation) { return orientation >= 5; }

// The sides of the upright picture that lie where pixels were stored last.
struct FarSides {
  bool left = false;
  bool top = false;
};
FarSides FarSidesOf(int orientation);

// Where a part of the upright picture is stored, with `orientation` (1 to 8), and the other way
// round. `stored` is the size of the picture as stored.
CropRect StoredRect(const CropRect& upright, const Size& stored, int orientation);
CropRect UprightRect(const CropRect& rect, const Size& stored, int orientation);

// Writes `source`, stored with `orientation` (1 to 8), upright to `out`, which has room for
// source.bytes() and does not overlap it. Returns `out` with its shape.
PixelView ApplyOrientation(const PixelView& source, int orientation, uint8_t* out);

}  // namespace penstock

#endif  // PENSTOCK_RECORDS_IMAGE_ORIENTATION_H_
