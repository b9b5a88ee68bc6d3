// Shrinks large images before they are stored.
#ifndef PENSTOCK_CLI_PACK_IMAGE_SHRINKER_H_
#define PENSTOCK_CLI_PACK_IMAGE_SHRINKER_H_

#include <algorithm>
#include <cstdint>
#include <span>

#include "absl/status/statusor.h"
#include "records/image/geometry.h"
#include "records/image/image_decoder.h"
#include "records/image/image_info.h"
#include "records/image/jpeg_encoder.h"
#include "records/image/resampler.h"

namespace penstock {

struct ShrinkOptions {
  static constexpr uint32_t kMostSide = 16384;

  // Maximum length of the longer side; 0 means that images stay as they are.
  uint32_t max_side = 0;
  int quality = 90;  // Quality of the JPEGs that are written, 1 to 100.
};

// Not thread-safe; keep one for each thread.
class ImageShrinker {
 public:
  explicit ImageShrinker(const ShrinkOptions& options) : options_(options) {}

  bool IsLarge(const ImageInfo& info) const {
    return options_.max_side > 0 && std::max(info.width, info.height) > options_.max_side;
  }

  // Returns the image as a JPEG of reduced size, 4:2:0, made by antialiased bilinear resampling. A
  // grey image stays grey; others become colour, without alpha. The pixels keep their stored
  // orientation, and EXIF has the same orientation as before; nothing else of it is kept. Valid
  // until the next call. Errors are those of ImageDecoder::Decode(). REQUIRES: IsLarge(info), where
  // `info` is the result of ProbeImage().
  absl::StatusOr<std::span<const uint8_t>> Shrink(std::span<const uint8_t> bytes,
                                                  const ImageInfo& info);

 private:
  const ShrinkOptions options_;
  ImageDecoder decoder_;
  Resampler resampler_;
  ScratchMemory reduced_;
  JpegEncoder encoder_;
};

}  // namespace penstock

#endif  // PENSTOCK_CLI_PACK_IMAGE_SHRINKER_H_
