// Resizes parts of pictures.
#ifndef PENSTOCK_RECORDS_IMAGE_RESAMPLER_H_
#define PENSTOCK_RECORDS_IMAGE_RESAMPLER_H_

#include <cstdint>
#include <vector>

#include "base/simd_level.h"
#include "records/image/axis_weights.h"
#include "records/image/geometry.h"
#include "records/image/horizontal_pass.h"
#include "records/image/pixels.h"
#include "records/image/row_ring.h"
#include "records/image/vertical_pass.h"

namespace penstock {

enum class Interpolation : uint8_t {
  kBilinear,  // Antialiased: the filter is as wide as the scale.
  kNearest,   // For masks, whose values are classes.
};

// Resizes `box` of a picture to `width` x `height` pixels. The output is the window of these
// pixels, mirrored from left to right if `flip`. The box is in pixels of the picture, with
// fractions.
struct ResizeRequest {
  struct Box {
    double left = 0, top = 0, right = 0, bottom = 0;
  };
  Box box;
  uint32_t width = 0;
  uint32_t height = 0;
  uint32_t window_left = 0;
  uint32_t window_top = 0;
  uint32_t window_width = 0;
  uint32_t window_height = 0;
  Interpolation interpolation = Interpolation::kBilinear;
  bool flip = false;
};

// The axes of a resize. Their input samples have the picture's coordinates.
ResizeAxis HorizontalAxis(const ResizeRequest& request);
ResizeAxis VerticalAxis(const ResizeRequest& request);

// Returns the part of the picture that Resize() reads. REQUIRES: as for Resize().
CropRect PartRead(const ResizeRequest& request);

// Returns a request that resizes all of `source` to width x height pixels with the antialiased
// filter.
inline ResizeRequest WholeResized(const PixelView& source, uint32_t width, uint32_t height) {
  return {.box = {0, 0, static_cast<double>(source.width), static_cast<double>(source.height)},
          .width = width,
          .height = height,
          .window_width = width,
          .window_height = height};
}

// Resizes like Image.crop(box).resize() of Pillow 12, bit for bit. It crops first, so that the
// filter stops at the box; it filters rows before columns; and each pass rounds to 8 bits. If the
// box has fractions, the crop is the smallest one of whole pixels that contains it, and resize()
// gets the rest as its `box`.
// Not thread-safe.
class Resampler {
 public:
  // All levels give the same bits.
  explicit Resampler(SimdLevel level = BestSimdLevel());

  // Fills `out`, which has shape [window_height][window_width][channels of the source].
  // REQUIRES: the box lies in the picture and its area is above 0; the window lies in the resized
  // picture and is not empty; the source holds PartRead() and has 1 or 3 channels.
  void Resize(const PicturePart& source, const ResizeRequest& request, uint8_t* out);

 private:
  void ResizeBilinear(const PixelView& source, bool flip, uint8_t* out);
  void ResizeNearest(const PixelView& source, bool flip, uint8_t* out);
  void FilterRows(const PixelView& source, size_t first);

  ResizeAxis horizontal_;
  ResizeAxis vertical_;
  HorizontalPass horizontal_pass_;
  VerticalPass vertical_pass_;
  RowRing ring_;  // Rows for the vertical pass, after the horizontal pass.
  std::vector<uint32_t> columns_;
  std::vector<uint32_t> rows_;
};

// Returns the largest memory, in bytes, that Resize() takes for a source and a window of these
// sizes.
uint64_t ResizeMemory(uint64_t in_width, uint64_t in_height, uint64_t out_width,
                      uint64_t out_height, int channels);

}  // namespace penstock

#endif  // PENSTOCK_RECORDS_IMAGE_RESAMPLER_H_
