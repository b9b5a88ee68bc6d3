// The orientation that a camera wrote beside the pixels.
#ifndef PENSTOCK_RECORDS_IMAGE_EXIF_H_
#define PENSTOCK_RECORDS_IMAGE_EXIF_H_

#include <cstdint>
#include <span>

namespace penstock {

// The orientation, 1 to 8, in an EXIF block that begins with its TIFF header ("II*\0" or "MM\0*").
// 1 if the block has none, is damaged, or has another number: the image is then shown as stored.
int ExifOrientation(std::span<const uint8_t> tiff);

}  // namespace penstock

#endif  // PENSTOCK_RECORDS_IMAGE_EXIF_H_
