// The headers of the formats that ProbeImage() reads.
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
// As either of them.
inline bool LooksLikeImage(std::span<const uint8_t> bytes) {
  return LooksLikeJpeg(bytes) || LooksLikePng(bytes);
}

// Markers up to the first scan. kInvalidArgument: a process of JPEG other than 8-bit Huffman-coded
// DCT, or a number of components other than 1, 3 or 4. kDataLoss: damaged or cut.
// REQUIRES: LooksLikeJpeg(bytes).
absl::StatusOr<ImageInfo> ReadJpegHeader(std::span<const uint8_t> bytes);

// IHDR, and eXIf wherever it is. kDataLoss: damaged or cut. REQUIRES: LooksLikePng(bytes).
absl::StatusOr<ImageInfo> ReadPngHeader(std::span<const uint8_t> bytes);

// kInvalidArgument with what `bytes`, neither JPEG nor PNG, are instead, as far as that can be
// told.
absl::Status RefuseFormat(std::span<const uint8_t> bytes);

}  // namespace penstock

#endif  // PENSTOCK_RECORDS_IMAGE_HEADERS_H_
