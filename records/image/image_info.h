// Describes an encoded image from its header alone.
#ifndef PENSTOCK_RECORDS_IMAGE_IMAGE_INFO_H_
#define PENSTOCK_RECORDS_IMAGE_IMAGE_INFO_H_

#include <cstdint>
#include <span>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace penstock {

enum class ImageFormat : uint8_t { kJpeg, kPng };

absl::string_view ImageFormatName(ImageFormat format);

// `width` and `height` are as stored, before `orientation` is applied.
struct ImageInfo {
  ImageFormat format = ImageFormat::kJpeg;
  uint32_t width = 0;
  uint32_t height = 0;
  // Samples per pixel: 1 for grey or a palette index, 2 for grey with alpha, 3 for colour, 4 for
  // CMYK, YCCK or RGBA.
  int components = 0;
  int bit_depth = 8;         // Bits per sample.
  bool palette = false;      // True if samples are palette indices.
  bool progressive = false;  // True for a progressive JPEG or an interlaced PNG.
  int orientation = 1;       // 1 to 8, from EXIF. 1 means as stored, and is the default.
  // Memory, in bytes, for the coefficients of a JPEG whose scans must all be read before its first
  // row is known; 0 for other images.
  uint64_t coefficient_bytes = 0;

  uint64_t pixels() const { return uint64_t{width} * height; }
};

// Images above these limits are refused. The limits do not depend on free memory, so a refusal is a
// fact about the data, the same on every machine.
struct ImageLimits {
  uint64_t max_pixels = uint64_t{64} << 20;
  uint32_t max_side = 65535;       // Limit of both width and height.
  uint32_t max_scans = 64;         // Limit for the number of scans of a JPEG.
  uint32_t max_chunk = 8'000'000;  // Limit for the bytes of a PNG chunk other than IDAT.

  // Returns kInvalidArgument if a limit is 0.
  absl::Status Validate() const;
};

// Reads the header of a JPEG or PNG, which are detected by their first bytes. Decodes nothing.
// After the header, reads only EXIF.
// kInvalidArgument: no image, or an unsupported one. The message says what the bytes are.
// kDataLoss: the header is damaged or truncated.
absl::StatusOr<ImageInfo> ProbeImage(std::span<const uint8_t> bytes);

// Returns kInvalidArgument if `info` exceeds a limit. Scans and chunks are counted only while
// decoding.
absl::Status CheckImageLimits(const ImageInfo& info, const ImageLimits& limits);

// Estimates the time, in nanoseconds, that decoding such an image of `encoded_bytes` bytes takes:
// an image of few bytes may have many pixels, and each scan of a progressive JPEG visits all of
// them.
uint64_t DecodeNanoseconds(const ImageInfo& info, uint64_t encoded_bytes);

// Returns the largest memory, in bytes, that decoding such an image takes, without the encoded
// bytes. Includes its pixels with `channels` channels, and the turned pixels if `orient`. A region
// takes less, but whether a region can be decoded alone is known only from the encoded data.
uint64_t DecodeMemory(const ImageInfo& info, int channels = 3, bool orient = false);

}  // namespace penstock

#endif  // PENSTOCK_RECORDS_IMAGE_IMAGE_INFO_H_
