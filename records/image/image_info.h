// What an encoded image is, from its header alone.
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

// Width and height are as stored, before `orientation` is applied.
struct ImageInfo {
  ImageFormat format = ImageFormat::kJpeg;
  uint32_t width = 0;
  uint32_t height = 0;
  // Samples of a pixel: 1 grey or palette index, 2 grey and alpha, 3 colour, 4 CMYK, YCCK or RGBA.
  int components = 0;
  int bit_depth = 8;         // Bits of a sample.
  bool palette = false;      // Samples are indices of a palette.
  bool progressive = false;  // Progressive JPEG or interlaced PNG.
  int orientation = 1;       // 1 to 8, from EXIF; 1, as stored, where there is none.
  // Memory for the coefficients of a JPEG whose scans must all be read before its first row is
  // known; 0 for others.
  uint64_t coefficient_bytes = 0;

  uint64_t pixels() const { return uint64_t{width} * height; }
};

// Larger images are refused. The bounds are facts about the data, alike on every machine: none of
// them follows the memory that is free.
struct ImageLimits {
  uint64_t max_pixels = uint64_t{64} << 20;
  uint32_t max_side = 65535;       // Of width and of height.
  uint32_t max_scans = 64;         // Of a JPEG.
  uint32_t max_chunk = 8'000'000;  // Bytes of a PNG chunk other than IDAT.

  // kInvalidArgument: a limit is 0.
  absl::Status Validate() const;
};

// Reads the header of a JPEG or PNG, which is recognised by its first bytes. Decodes nothing and
// does not look at what follows the header, except for EXIF.
// kInvalidArgument: no image at all, or one that is not supported; the message names what it is.
// kDataLoss: the header is damaged or cut.
absl::StatusOr<ImageInfo> ProbeImage(std::span<const uint8_t> bytes);

// kInvalidArgument: `info` exceeds a limit. Scans and chunks are counted only when decoding.
absl::Status CheckImageLimits(const ImageInfo& info, const ImageLimits& limits);

// The most memory in bytes that decoding such an image takes beside the encoded bytes, its pixels
// in `channels` included, and those that were turned if `orient`. Known before decoding. A region
// takes less, but only the encoded data tell whether it can be decoded alone.
uint64_t DecodeMemory(const ImageInfo& info, int channels = 3, bool orient = false);

}  // namespace penstock

#endif  // PENSTOCK_RECORDS_IMAGE_IMAGE_INFO_H_
