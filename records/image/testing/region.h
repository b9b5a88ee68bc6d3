// Regions of decoded pictures for tests.
#ifndef PENSTOCK_RECORDS_IMAGE_TESTING_REGION_H_
#define PENSTOCK_RECORDS_IMAGE_TESTING_REGION_H_

#include <algorithm>
#include <cstddef>
#include <vector>

#include "base/counter_rng.h"
#include "records/image/image_decoder.h"

namespace penstock {

inline CropRect RandomRegion(CounterRng& rng, const Size& picture) {
  const uint64_t left = rng.Below(picture.width), top = rng.Below(picture.height);
  return {.left = static_cast<int64_t>(left),
          .top = static_cast<int64_t>(top),
          .width = static_cast<uint32_t>(1 + rng.Below(picture.width - left)),
          .height = static_cast<uint32_t>(1 + rng.Below(picture.height - top))};
}

// Copies the pixels of `rect` of the picture to memory of exactly their size, so that a sanitizer
// reports each read outside it.
inline std::vector<uint8_t> PixelsIn(const PixelView& picture, const CropRect& rect) {
  const size_t channels = static_cast<size_t>(picture.channels);
  std::vector<uint8_t> pixels;
  for (size_t y = 0; y < rect.height; ++y) {
    const uint8_t* row = picture.row(static_cast<size_t>(rect.top) + y);
    const uint8_t* first = row + static_cast<size_t>(rect.left) * channels;
    pixels.insert(pixels.end(), first, first + rect.width * channels);
  }
  return pixels;
}

// Whether `part` contains the region.
inline bool Holds(const DecodedImage& part, const CropRect& region) {
  return part.left <= region.left && part.top <= region.top &&
         part.left + part.pixels.width >= region.left + region.width &&
         part.top + part.pixels.height >= region.top + region.height;
}

// Whether the pixels of the region are equal. REQUIRES: both contain it and have the same number of
// channels.
inline bool EqualIn(const CropRect& region, const DecodedImage& a, const DecodedImage& b) {
  const size_t channels = static_cast<size_t>(a.pixels.channels);
  const size_t left = static_cast<size_t>(region.left), top = static_cast<size_t>(region.top);
  for (size_t y = top; y < top + region.height; ++y) {
    const uint8_t* row = a.pixels.row(y - a.top) + (left - a.left) * channels;
    const uint8_t* other = b.pixels.row(y - b.top) + (left - b.left) * channels;
    if (!std::equal(row, row + region.width * channels, other)) return false;
  }
  return true;
}

}  // namespace penstock

#endif  // PENSTOCK_RECORDS_IMAGE_TESTING_REGION_H_
