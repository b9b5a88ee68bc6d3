// Parts of pictures, resized.
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

// `box` of a picture becomes a picture of `width` x `height` pixels, of which the window is
// wanted, mirrored from left to right if `flip`.
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

// The axes of a resize. Their input samples are numbered as the picture's.
ResizeAxis HorizontalAxis(const ResizeRequest& request);
ResizeAxis VerticalAxis(const ResizeRequest& request);

// The part of the picture whose pixels Resize() reads. REQUIRES: as Resize().
CropRect PartRead(const ResizeRequest& request);

// All of `source`, as width x height pixels, by the antialiased filter.
inline ResizeRequest WholeResized(const PixelView& source, uint32_t width, uint32_t height) {
  return {.box = {0, 0, static_cast<double>(source.width), static_cast<double>(source.height)},
          .width = width,
          .height = height,
          .window_width = width,
          .window_height = height};
}

// Resizes as Image.crop(box).resize() of Pillow 12 does, bit for bit: crop first, so that the
// filter stops at the box; rows before columns; each pass rounds to 8 bits. If the box has
// fractions, the crop is the least one of whole pixels around it, and resize() gets the rest as
// `box`. Not thread-safe.
class Resampler {
 public:
  // Every level gives the same bits.
  explicit Resampler(SimdLevel level = BestSimdLevel());

  // Fills `out`, [window_height][window_width][channels of the source].
  // REQUIRES: the box lies in the picture and has an area above 0; the window lies in the resized
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
  RowRing ring_;  // The rows that the vertical pass needs, after the horizontal one.
  std::vector<uint32_t> columns_;
  std::vector<uint32_t> rows_;
};

// The most memory that Resize() takes for a source and window of these sizes.
uint64_t ResizeMemory(uint64_t in_width, uint64_t in_height, uint64_t out_width,
                      uint64_t out_height, int channels);

}  // namespace penstock

#endif  // PENSTOCK_RECORDS_IMAGE_RESAMPLER_H_
