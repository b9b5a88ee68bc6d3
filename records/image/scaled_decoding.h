// Decodes JPEGs at a smaller scale if the resize would shrink them anyway.
#ifndef PENSTOCK_RECORDS_IMAGE_SCALED_DECODING_H_
#define PENSTOCK_RECORDS_IMAGE_SCALED_DECODING_H_

#include <cstdint>

#include "records/image/image_info.h"
#include "records/image/rendering.h"

namespace penstock {

// Returns the largest ImageDecodeOptions::shrink at which the sides of the box of `request` are
// still at least twice the sides of the resized picture. The resize then still averages at least 2
// x 2 pixels into one. Returns 1 for a PNG.
uint32_t ShrinkFor(const ImageInfo& info, const ResizeRequest& request);
// Returns 1, because a padded crop is not resized.
inline uint32_t ShrinkFor(const ImageInfo&, const PaddedCrop&) { return 1; }

// Converts the request to coordinates of the shrunk picture, which is turned if `orient`. The box
// keeps its fractions, so the content does not move.
ResizeRequest Shrunk(ResizeRequest request, uint32_t shrink, const ImageInfo& info, bool orient);
inline PaddedCrop Shrunk(const PaddedCrop& crop, uint32_t, const ImageInfo&, bool) { return crop; }

}  // namespace penstock

#endif  // PENSTOCK_RECORDS_IMAGE_SCALED_DECODING_H_
