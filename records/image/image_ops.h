// The `image` operation of a decode spec as a plain struct.
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

// A random part of the picture is resized to the output.
struct RandomResizedCropOp {
  Size output = {};
  CropRanges ranges = {};
};

// The whole picture is resized to the output, whatever its ratio.
struct ResizeOp {
  Size output = {};
};

// The shorter side of the picture is resized to `side`. The output is the central part.
struct ResizeShorterOp {
  uint32_t side = 0;
  Size output = {};
};

// A random part of the padded picture is the output. It is not resized.
struct RandomCropOp {
  Size output = {};
  uint32_t pixels_around = 0;
  Padding padding = Padding::kZero;
};

struct ImageOps {
  // The largest side of an output.
  static constexpr uint32_t kMaxSide = 16384;

  int channels = 3;     // 1 (grey) or 3 (RGB).
  bool orient = false;  // First, turn the picture as EXIF says.
  std::variant<RandomResizedCropOp, ResizeOp, ResizeShorterOp, RandomCropOp> crop;
  double flip_probability = 0;  // Probability of mirroring left to right, the last step.
  Interpolation interpolation = Interpolation::kBilinear;
  bool fill_truncated = false;  // Decode what there is of a truncated file.
  bool scale_grey16 = false;    // As in ImageDecodeOptions.
  // Decode JPEGs at a smaller scale if the resize shrinks them anyway (scaled_decoding.h).
  bool scaled_decoding = false;
  ImageLimits limits = {};

  Size output() const;
  ImageDecodeOptions decode_options() const;
  // Bytes of the output: height x width x channels.
  size_t output_bytes() const;

  // Returns kInvalidArgument if a number is out of range. The message names the number and the
  // range.
  absl::Status Validate() const;
};

}  // namespace penstock

#endif  // PENSTOCK_RECORDS_IMAGE_IMAGE_OPS_H_
