#include "records/image/image_info.h"

#include "absl/strings/str_cat.h"
#include "base/rounding.h"
#include "records/image/headers.h"

namespace penstock {
namespace {

// Memory for state, tables and windows of the libraries.
constexpr uint64_t kLibraryBytes = 384 << 10;
// For libjpeg-turbo, bytes for each sample across a component: a row of blocks, the rows around it,
// and the upsampled rows. For libpng, bytes for each pixel across: rows of at most 8 bytes a pixel.
constexpr uint64_t kJpegRows = 64, kPngRowBytes = 40;

// Measured on one core of a Sapphire Rapids (bench/fair_share.cc), and rounded: whole pictures,
// with the resize. Entropy-coded bytes dominate in photos, pixels in flat pictures.
constexpr uint64_t kJpegByteNs = 15, kJpegPixelNs = 1, kPngByteNs = 8, kPngSampleNs = 2;
// Scans of what libjpeg-turbo and Photoshop write as progressive. The header does not tell.
constexpr uint64_t kProgressiveScans = 10;

uint64_t JpegMemory(const ImageInfo& info) {
  const uint64_t padded_width = RoundUp(info.width, 32);
  return info.coefficient_bytes + padded_width * info.components * kJpegRows;
}

// Returns the memory of the pixels as stored, before conversion, and of the rows.
uint64_t PngMemory(const ImageInfo& info) {
  const uint64_t stored = info.components >= 3 ? 3 : 2;
  return info.pixels() * stored + uint64_t{info.width} * kPngRowBytes;
}

}  // namespace

absl::string_view ImageFormatName(ImageFormat format) {
  return format == ImageFormat::kJpeg ? "JPEG" : "PNG";
}

absl::Status ImageLimits::Validate() const {
  if (max_pixels == 0 || max_side == 0 || max_scans == 0 || max_chunk == 0) {
    return absl::InvalidArgumentError(
        "limits of images must be at least 1: leave them out for the defaults");
  }
  return absl::OkStatus();
}

absl::StatusOr<ImageInfo> ProbeImage(std::span<const uint8_t> bytes) {
  if (LooksLikeJpeg(bytes)) return ReadJpegHeader(bytes);
  if (LooksLikePng(bytes)) return ReadPngHeader(bytes);
  return RefuseFormat(bytes);
}

absl::Status CheckImageLimits(const ImageInfo& info, const ImageLimits& limits) {
  if (info.width > limits.max_side || info.height > limits.max_side) {
    return absl::InvalidArgumentError(absl::StrCat("the image has ", info.width, "x", info.height,
                                                   " pixels, more than ", limits.max_side,
                                                   " on a side: store it smaller"));
  }
  if (info.pixels() > limits.max_pixels) {
    return absl::InvalidArgumentError(absl::StrCat(
        "the image has ", info.width, "x", info.height, " pixels, more than ", limits.max_pixels,
        " in all: store it smaller, or raise max_pixels in the spec's image"));
  }
  return absl::OkStatus();
}

uint64_t DecodeNanoseconds(const ImageInfo& info, uint64_t encoded_bytes) {
  if (info.format == ImageFormat::kPng) {
    const uint64_t samples = info.pixels() * static_cast<uint64_t>(info.components);
    return samples * kPngSampleNs + encoded_bytes * kPngByteNs;
  }
  const uint64_t scans = info.progressive ? kProgressiveScans : 1;
  return info.pixels() * kJpegPixelNs * scans + encoded_bytes * kJpegByteNs;
}

uint64_t DecodeMemory(const ImageInfo& info, int channels, bool orient) {
  const uint64_t library = info.format == ImageFormat::kJpeg ? JpegMemory(info) : PngMemory(info);
  const uint64_t copies = orient && info.orientation != 1 ? 2 : 1;
  return kLibraryBytes + library + info.pixels() * static_cast<uint64_t>(channels) * copies;
}

}  // namespace penstock
