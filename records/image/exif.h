// Reads the orientation that a camera stored beside the pixels.
#ifndef PENSTOCK_RECORDS_IMAGE_EXIF_H_
#define PENSTOCK_RECORDS_IMAGE_EXIF_H_

#include <cstdint>
#include <span>

namespace penstock {

// Returns the orientation, 1 to 8, in an EXIF block that begins with its TIFF header ("II*\0" or
// "MM\0*"). Returns 1, which means as stored, if the block has none, is damaged, or has another
// number.
int ExifOrientation(std::span<const uint8_t> tiff);

}  // namespace penstock

#endif  // PENSTOCK_RECORDS_IMAGE_EXIF_H_
