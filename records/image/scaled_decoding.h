// JPEGs that are decoded smaller, where the resize would shrink them anyway.
#ifndef PENSTOCK_RECORDS_IMAGE_SCALED_DECODING_H_
#define PENSTOCK_RECORDS_IMAGE_SCALED_DECODING_H_

#include <cstdint>

#include "records/image/image_info.h"
#include "records/image/rendering.h"

namespace penstock {

// The largest ImageDecodeOptions::shrink with which the box of `request` keeps at least twice the
// sides of what it is resized to. So the resize still averages at least 2 x 2 pixels into one. 1
// for a PNG.
uint32_t ShrinkFor(const ImageInfo& info, const ResizeRequest& request);
// Not resized: 1.
inline uint32_t ShrinkFor(const ImageInfo&, const PaddedCrop&) { return 1; }

// The request in coordinates of the shrunk picture, turned if `orient`. A box keeps its fractions,
// so what is seen does not move.
ResizeRequest Shrunk(ResizeRequest request, uint32_t shrink, const ImageInfo& info, bool orient);
inline PaddedCrop Shrunk(const PaddedCrop& crop, uint32_t, const ImageInfo&, bool) { return crop; }

}  // namespace penstock

#endif  // PENSTOCK_RECORDS_IMAGE_SCALED_DECODING_H_
