// Copies parts of pictures that may extend beyond their edges.
#ifndef PENSTOCK_RECORDS_IMAGE_PADDED_CROP_H_
#define PENSTOCK_RECORDS_IMAGE_PADDED_CROP_H_

#include <cstdint>

#include "records/image/geometry.h"
#include "records/image/pixels.h"

namespace penstock {

enum class Padding : uint8_t {
  kZero,     // Black.
  kReflect,  // Mirrored at the edge pixel, which is not repeated: c b | a b c | b a.
};

// The part `rect` of a picture, which may extend beyond the edges. It is mirrored from left to
// right if `flip`.
struct PaddedCrop {
  Size picture;
  CropRect rect;
  Padding padding = Padding::kZero;
  bool flip = false;
};

// Returns the part of the picture that CopyPadded() reads. If it reads nothing, returns one pixel
// of the edge. REQUIRES: the picture and the rectangle are not empty.
CropRect PartRead(const PaddedCrop& crop);

// Fills `out`, which has shape [rect.height][rect.width][channels].
// REQUIRES: the source holds PartRead(crop) and has 1 or 3 channels.
void CopyPadded(const PicturePart& source, const PaddedCrop& crop, uint8_t* out);

}  // namespace penstock

#endif  // PENSTOCK_RECORDS_IMAGE_PADDED_CROP_H_
