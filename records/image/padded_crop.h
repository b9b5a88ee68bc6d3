// Parts of pictures, copied, with what lies beyond the edges.
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

// Writes `rect` of the source to `out`, [rect.height][rect.width][source.channels], mirrored from
// left to right if `flip`. REQUIRES: the source is not empty and has 1 or 3 channels.
void CopyPadded(const PixelView& source, const CropRect& rect, Padding padding, bool flip,
                uint8_t* out);

}  // namespace penstock

#endif  // PENSTOCK_RECORDS_IMAGE_PADDED_CROP_H_
