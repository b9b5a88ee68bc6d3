// Options for decoding an image, and the flaws that were noticed while decoding.
#ifndef PENSTOCK_RECORDS_IMAGE_IMAGE_DECODE_OPTIONS_H_
#define PENSTOCK_RECORDS_IMAGE_IMAGE_DECODE_OPTIONS_H_

#include <cstdint>

#include "records/image/image_info.h"

namespace penstock {

struct ImageDecodeOptions {
  int channels = 3;             // 1 (grey) or 3 (RGB).
  bool orient = false;          // Turn and mirror the picture as EXIF says.
  bool fill_truncated = false;  // Decode what there is of a truncated file, instead of an error.
  // Maps the values of a PNG with 16-bit grey, 0 to 65535, to 0 to 255. Otherwise values above 255
  // become 255, as in Pillow.
  bool scale_grey16 = false;
  // Decodes a JPEG to a picture of ShrunkSize(), with a smaller inverse transform of each block.
  // REQUIRES: 1, 2 or 4; 1 for a PNG.
  uint32_t shrink = 1;
  ImageLimits limits = {};
};

struct ImageNotes {
  bool truncated = false;  // True if the end of the file is missing. Only with fill_truncated.
  uint64_t warnings = 0;   // Number of times that the library worked around damage.
};

}  // namespace penstock

#endif  // PENSTOCK_RECORDS_IMAGE_IMAGE_DECODE_OPTIONS_H_
