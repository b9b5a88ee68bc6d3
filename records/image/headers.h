// Reads the headers of the formats that ProbeImage() supports.
#ifndef PENSTOCK_RECORDS_IMAGE_HEADERS_H_
#define PENSTOCK_RECORDS_IMAGE_HEADERS_H_

#include <cstdint>
#include <span>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "records/image/image_info.h"

namespace penstock {

bool LooksLikeJpeg(std::span<const uint8_t> bytes);
bool LooksLikePng(std::span<const uint8_t> bytes);
// Whether `bytes` look like a JPEG or a PNG.
inline bool LooksLikeImage(std::span<const uint8_t> bytes) {
  return LooksLikeJpeg(bytes) || LooksLikePng(bytes);
}

// Whether the header is that of a PNG with 16-bit grey and no alpha, whose values Pillow clips.
bool IsGrey16Png(std::span<const uint8_t> bytes);

// Reads the markers up to the first scan.
// kInvalidArgument: a JPEG process other than 8-bit Huffman-coded DCT, or a number of components
// other than 1, 3 or 4.
// kDataLoss: the header is damaged or truncated.
// REQUIRES: LooksLikeJpeg(bytes).
absl::StatusOr<ImageInfo> ReadJpegHeader(std::span<const uint8_t> bytes);

// Reads IHDR, and eXIf wherever it is. kDataLoss: the header is damaged or truncated. REQUIRES:
// LooksLikePng(bytes).
absl::StatusOr<ImageInfo> ReadPngHeader(std::span<const uint8_t> bytes);

// Returns kInvalidArgument. The message says, as far as it can be detected, what `bytes` are.
// REQUIRES: they are neither JPEG nor PNG.
absl::Status RefuseFormat(std::span<const uint8_t> bytes);

}  // namespace penstock

#endif  // PENSTOCK_RECORDS_IMAGE_HEADERS_H_
