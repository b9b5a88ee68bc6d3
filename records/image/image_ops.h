// What is done to an encoded image: the `image` operation of a decode spec as a plain struct.
#ifndef PENSTOCK_RECORDS_IMAGE_IMAGE_OPS_H_
#define PENSTOCK_RECORDS_IMAGE_IMAGE_OPS_H_

#include <cstddef>
#include <cstdint>
#include <variant>

#include "absl/status/status.h"
#include "records/image/geometry.h"
#include "records/image/image_decode_options.h"
#include "records/image/image_info.h"
#include "records/image/padded_crop.h"
#include "records/image/resampler.h"

namespace penstock {

// A random part of the picture, resized to the output.
struct RandomResizedCropOp {
  Size output = {};
  CropRanges ranges = {};
};

// The whole picture, resized to the output whatever its ratio.
struct ResizeOp {
  Size output = {};
};

// The picture with its shorter side resized to `side`, and of that the central part.
struct ResizeShorterOp {
  uint32_t side = 0;
  Size output = {};
};

// A random part of the padded picture, not resized.
struct RandomCropOp {
  Size output = {};
  uint32_t pixels_around = 0;
  Padding padding = Padding::kZero;
};

struct ImageOps {
  // The largest output side.
  static constexpr uint32_t kMaxSide = 16384;

  int channels = 3;     // 1 (grey) or 3 (RGB)
  bool orient = false;  // Turn the picture as EXIF says, before all else.
  std::variant<RandomResizedCropOp, ResizeOp, ResizeShorterOp, RandomCropOp> crop;
  double flip_probability = 0;  // Of being mirrored from left to right, after all else.
  Interpolation interpolation = Interpolation::kBilinear;
  bool fill_truncated = false;  // Decode what there is of a file that is cut.
  // Decode JPEGs smaller where the resize shrinks them anyway (scaled_decoding.h).
  bool scaled_decoding = false;
  ImageLimits limits = {};

  Size output() const;
  ImageDecodeOptions decode_options() const;
  // Bytes of the output: height x width x channels.
  size_t output_bytes() const;

  // kInvalidArgument: a number is out of its range; the message names it and the range.
  absl::Status Validate() const;
};

}  // namespace penstock

#endif  // PENSTOCK_RECORDS_IMAGE_IMAGE_OPS_H_
